with episodes as (
    select * from {{ ref('int_mimic3__episodes') }}
    where
        task_exclusion is null
        and first_hour_in_stay is not null
),

phenotype_labels as (
    select * from {{ ref('int_mimic3__phenotype_labels') }}
),

-- The masks are for every whole hour from 0 below the stop; `ceil(stop)` of them.
stops as (
    select
        *,
        los_hours + {{ mimic3_epsilon() }} as length_of_stay_stop,
        least(los_hours, lived_hours) + {{ mimic3_epsilon() }} as decompensation_stop,
        los_hours >= 48 - {{ mimic3_epsilon() }}
        and first_hour_in_stay <= 48 + {{ mimic3_epsilon() }} as is_in_hospital_mortality_sample
    from episodes
),

-- A mask is 1 where the hour is above 4 and above that of the first observation.
sample_hours as (
    select
        *,
        greatest(5, cast(floor(first_hour_in_stay) as bigint) + 1) as first_sample_hour,
        greatest(0, cast(ceil(length_of_stay_stop) as bigint)) as length_of_stay_hours,
        greatest(0, cast(ceil(decompensation_stop) as bigint)) as decompensation_hours
    from stops
),

-- The smallest whole hour with death within the next 24 hours; exactly 24 is not within.
decompensation as (
    select
        *,
        case
            when mortality = 1 and lived_hours is not null
                then greatest(0, cast(floor(lived_hours - 24) as bigint) + 1)
        end as first_decompensation_hour
    from sample_hours
),

final as (
    select
        decompensation.stay,
        decompensation.subject_id,
        decompensation.icustay_id,
        decompensation.partition,
        decompensation.is_validation,
        decompensation.los_hours as length_of_stay,
        case when decompensation.is_in_hospital_mortality_sample then 47 else 0 end
            as in_hospital_mortality_position,
        case when decompensation.is_in_hospital_mortality_sample then 1 else 0 end
            as in_hospital_mortality_mask,
        decompensation.mortality as in_hospital_mortality_label,
        decompensation.first_sample_hour,
        decompensation.length_of_stay_hours,
        decompensation.decompensation_hours,
        decompensation.first_decompensation_hour,
        {% for phenotype_id in range(1, 26) %}
            phenotype_labels.label_{{ phenotype_id }}{% if not loop.last %},{% endif %}
        {% endfor %}
    from decompensation
    inner join phenotype_labels on decompensation.icustay_id = phenotype_labels.icustay_id
)

select * from final
