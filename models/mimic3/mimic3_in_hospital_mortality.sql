with episodes as (
    select * from {{ ref('int_mimic3__episodes') }}
    where task_exclusion is null
),

long_enough_stays as (
    select * from episodes
    where los_hours >= 48 - {{ mimic3_epsilon() }}
),

-- Rows up to 48 hours count here, not those up to the end of the stay.
observed_stays as (
    select * from long_enough_stays
    where row_count_in_first_48_hours > 0
),

final as (
    select
        stay,
        subject_id,
        icustay_id,
        partition,
        is_validation,
        mortality as y_true
    from observed_stays
)

select * from final
