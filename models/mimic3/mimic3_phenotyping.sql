with episodes as (
    select * from {{ ref('int_mimic3__episodes') }}
    where
        task_exclusion is null
        and first_hour_in_stay is not null
),

phenotype_labels as (
    select * from {{ ref('int_mimic3__phenotype_labels') }}
),

final as (
    select
        episodes.stay,
        episodes.subject_id,
        episodes.icustay_id,
        episodes.partition,
        episodes.is_validation,
        episodes.los_hours as period_length,
        {{ phenotype_columns('phenotype_labels.label_#') }}
    from episodes
    inner join phenotype_labels on episodes.icustay_id = phenotype_labels.icustay_id
)

select * from final
