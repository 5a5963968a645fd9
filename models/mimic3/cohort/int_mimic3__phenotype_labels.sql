with cohort as (
    select * from {{ ref('int_mimic3__cohort') }}
),

diagnoses as (
    select * from {{ ref('int_mimic3__diagnoses') }}
),

icd9_phenotypes as (
    select * from {{ ref('icd9_phenotypes') }}
),

-- Codes match exactly, as text.
phenotypes_of_stay as (
    select
        diagnoses.icustay_id,
        icd9_phenotypes.phenotype_id
    from diagnoses
    left join icd9_phenotypes on diagnoses.icd9_code = icd9_phenotypes.icd9_code
),

labels as (
    select
        icustay_id,
        {% for phenotype_id in range(1, 26) %}
            max(case when phenotype_id = {{ phenotype_id }} then 1 else 0 end)
                as label_{{ phenotype_id }}{% if not loop.last %},{% endif %}
        {% endfor %}
    from phenotypes_of_stay
    group by icustay_id
),

-- A stay without a known code has zeros in the label matrix, and is in no task.
final as (
    select
        cohort.icustay_id,
        labels.icustay_id is not null as has_label,
        {% for phenotype_id in range(1, 26) %}
            coalesce(labels.label_{{ phenotype_id }}, 0)
                as label_{{ phenotype_id }}{% if not loop.last %},{% endif %}
        {% endfor %}
    from cohort
    left join labels on cohort.icustay_id = labels.icustay_id
)

select * from final
