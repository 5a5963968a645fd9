with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

pathologies as (
    select * from {{ ref('int_cdm__pathologies') }}
),

demographics as (
    select * from {{ ref('cdm_demographics') }}
),

histories as (
    select * from {{ ref('int_cdm__histories') }}
),

physical_exams as (
    select * from {{ ref('int_cdm__physical_exams') }}
),

free_text as (
    select * from {{ ref('int_cdm__free_text') }}
),

first_procedures as (
    select * from {{ ref('int_cdm__first_procedures') }}
),

data_class as (
    select * from {{ ref('cdm_data_class') }}
),

-- A case without an extract has no history and no exam, and is a case all the same.
final as (
    select
        cohort.hadm_id,
        cohort.list_position,
        cohort.subject_id,
        pathologies.pathology,
        demographics.age,
        demographics.gender,
        demographics.age_at_admission,
        demographics.hadm_id is not null as has_demographics,
        coalesce(histories.history_of_present_illness, '') as history_of_present_illness,
        coalesce(physical_exams.physical_exams, '') as physical_exams,
        free_text.extract_source,
        first_procedures.first_procedure_date,
        data_class.data_class
    from cohort
    cross join data_class
    left join pathologies on cohort.hadm_id = pathologies.hadm_id
    left join demographics on cohort.hadm_id = demographics.hadm_id
    left join histories on cohort.hadm_id = histories.hadm_id
    left join physical_exams on cohort.hadm_id = physical_exams.hadm_id
    left join free_text on cohort.hadm_id = free_text.hadm_id
    left join first_procedures on cohort.hadm_id = first_procedures.hadm_id
)

select * from final
