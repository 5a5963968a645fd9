{% set training_hours = var('mimic3_training_hours', 4) %}

with in_hospital_mortality as (
    select * from {{ ref('mimic3_in_hospital_mortality') }}
),

phenotyping as (
    select * from {{ ref('mimic3_phenotyping') }}
),

length_of_stay as (
    select * from {{ ref('mimic3_length_of_stay') }}
),

-- The hours of decompensation are among these, so one drawing serves both tasks. The digest makes
-- an order that looks random and is the same on every engine.
shuffled_hours as (
    select
        stay,
        icustay_id,
        partition,
        is_validation,
        period_length,
        count(*) over (partition by icustay_id) as hour_count,
        row_number() over (
            partition by icustay_id
            order by
                {{ text_order(
                    "md5(concat('" ~ var('mimic3_training_seed', 0)
                    ~ "|', icustay_id, '|', " ~ nearest_bigint('period_length') ~ "))"
                ) }} asc,
                period_length asc
        ) as place
    from length_of_stay
),

-- Never a sample of the test hours: every one of them is predicted.
drawn_hours as (
    select
        *,
        case
            when partition = 'test' then 1
            else
                greatest(
                    1, cast(hour_count as {{ type_double() }}) / {{ training_hours }}
                )
        end as weight
    from shuffled_hours
    where
        partition = 'test'
        or place <= {{ training_hours }}
),

final as (
    select
        'in_hospital_mortality' as kind,
        stay,
        icustay_id,
        partition,
        is_validation,
        cast(48 as {{ type_double() }}) as window_hours,
        cast(1 as {{ type_double() }}) as weight
    from in_hospital_mortality
    union all
    select
        'phenotyping' as kind,
        stay,
        icustay_id,
        partition,
        is_validation,
        period_length as window_hours,
        cast(1 as {{ type_double() }}) as weight
    from phenotyping
    union all
    select
        'hourly' as kind,
        stay,
        icustay_id,
        partition,
        is_validation,
        period_length as window_hours,
        weight
    from drawn_hours
)

select * from final
