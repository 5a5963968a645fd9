with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

admissions as (
    select * from {{ ref('stg_cdm__admissions') }}
),

patients as (
    select * from {{ ref('stg_cdm__patients') }}
),

final as (
    select
        cohort.hadm_id,
        patients.subject_id,
        patients.anchor_age as age,
        -- The anchor age is of the anchor year; 91 stands for everyone above 89, here too.
        cast(
            patients.anchor_age + extract(year from admissions.admittime) - patients.anchor_year
            as integer
        ) as age_at_admission,
        patients.gender
    from cohort
    inner join admissions on cohort.hadm_id = admissions.hadm_id
    inner join patients on admissions.subject_id = patients.subject_id
)

select * from final
