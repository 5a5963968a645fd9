with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

discharge_diagnoses as (
    select * from {{ ref('int_cdm__discharge_diagnoses') }}
),

final as (
    select
        discharge_diagnoses.hadm_id,
        discharge_diagnoses.seq_num,
        discharge_diagnoses.title,
        discharge_diagnoses.is_primary,
        discharge_diagnoses.extract_source
    from discharge_diagnoses
    inner join cohort on discharge_diagnoses.hadm_id = cohort.hadm_id
)

select * from final
