with sample_hours as (
    select * from {{ ref('int_mimic3__sample_hours') }}
),

-- Not cut at death.
final as (
    select
        stay,
        subject_id,
        icustay_id,
        partition,
        is_validation,
        sample_hour as period_length,
        los_hours - sample_hour as y_true
    from sample_hours
)

select * from final
