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
        {% for phenotype_id in range(1, 26) %}
            phenotype_labels.label_{{ phenotype_id }}{% if not loop.last %},{% endif %}
        {% endfor %}
    from episodes
    inner join phenotype_labels on episodes.icustay_id = phenotype_labels.icustay_id
)

select * from final
