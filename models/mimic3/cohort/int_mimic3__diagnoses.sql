with diagnoses_icd as (
    select * from {{ ref('stg_mimic3__diagnoses_icd') }}
),

d_icd_diagnoses as (
    select * from {{ ref('stg_mimic3__d_icd_diagnoses') }}
),

cohort as (
    select * from {{ ref('int_mimic3__cohort') }}
),

-- A code that the dictionary lacks is dropped, and its phenotype with it.
known_codes as (
    select
        diagnoses_icd.subject_id,
        diagnoses_icd.hadm_id,
        diagnoses_icd.seq_num,
        diagnoses_icd.icd9_code,
        d_icd_diagnoses.short_title,
        d_icd_diagnoses.long_title
    from diagnoses_icd
    inner join d_icd_diagnoses on diagnoses_icd.icd9_code = d_icd_diagnoses.icd9_code
),

final as (
    select
        known_codes.subject_id,
        known_codes.hadm_id,
        cohort.icustay_id,
        known_codes.seq_num,
        known_codes.icd9_code,
        known_codes.short_title,
        known_codes.long_title
    from known_codes
    inner join cohort
        on
            known_codes.subject_id = cohort.subject_id
            and known_codes.hadm_id = cohort.hadm_id
)

select * from final
