with episodes as (
    select * from {{ ref('int_mimic3__episodes') }}
    where
        task_exclusion is null
        and first_hour_in_stay is not null
),

-- The whole hours of the stay, from 0.
hours as (
    select
        episodes.subject_id,
        episodes.icustay_id,
        episodes.stay,
        episodes.partition,
        episodes.is_validation,
        episodes.los_hours,
        episodes.lived_hours,
        episodes.mortality,
        episodes.first_hour_in_stay,
        cast(stay_hours.sample_hour as {{ type_double() }}) as sample_hour
    from episodes
    cross join
        {{ whole_numbers(
            0,
            'cast(ceil(episodes.los_hours + ' ~ mimic3_epsilon() ~ ') as bigint) - 1',
            'stay_hours',
            'sample_hour'
        ) }}
),

-- A sample needs more than four hours of stay, and an observation before it.
final as (
    select * from hours
    where
        sample_hour > 4
        and sample_hour > first_hour_in_stay
)

select * from final
