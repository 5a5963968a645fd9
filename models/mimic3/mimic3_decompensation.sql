with sample_hours as (
    select * from {{ ref('int_mimic3__sample_hours') }}
),

-- Cut at death, even where the death is outside the admission and MORTALITY is 0.
lived_samples as (
    select * from sample_hours
    where
        lived_hours is null
        or sample_hour < lived_hours + {{ mimic3_epsilon() }}
),

-- Death within the next 24 hours; exactly 24 is not within.
final as (
    select
        stay,
        subject_id,
        icustay_id,
        partition,
        is_validation,
        sample_hour as period_length,
        case when mortality = 1 and lived_hours - sample_hour < 24 then 1 else 0 end as y_true
    from lived_samples
)

select * from final
