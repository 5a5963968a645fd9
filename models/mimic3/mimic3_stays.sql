with cohort as (
    select * from {{ ref('int_mimic3__cohort') }}
),

episodes as (
    select * from {{ ref('int_mimic3__episodes') }}
),

final as (
    select
        cohort.subject_id,
        cohort.hadm_id,
        cohort.icustay_id,
        cohort.episode,
        cohort.stay,
        cohort.partition,
        cohort.is_validation,
        cohort.last_careunit,
        cohort.dbsource,
        cohort.intime,
        cohort.outtime,
        cohort.los,
        cohort.admittime,
        cohort.dischtime,
        cohort.deathtime,
        cohort.ethnicity,
        cohort.diagnosis,
        cohort.gender,
        cohort.dob,
        cohort.dod,
        cohort.age,
        cohort.analysis_age,
        cohort.mortality_inunit,
        cohort.mortality,
        cohort.mortality as mortality_inhospital,
        episodes.timeseries_row_count,
        episodes.task_exclusion
    from cohort
    inner join episodes on cohort.icustay_id = episodes.icustay_id
)

select * from final
