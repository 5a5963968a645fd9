with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

radiology_reports as (
    select * from {{ ref('int_cdm__radiology_reports') }}
),

scrub_patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

-- The first report, and up to three before the first procedure.
capped as (
    select radiology_reports.*
    from radiology_reports
    inner join cohort on radiology_reports.hadm_id = cohort.hadm_id
    where
        radiology_reports.sequence_num <= 3
        and (radiology_reports.is_first_result or radiology_reports.is_before_first_procedure)
),

final as (
    select
        capped.hadm_id,
        capped.note_id,
        {{ scrubbed_result('capped.exam_name', 'scrub_patterns') }} as exam_name,
        capped.modality,
        capped.region,
        capped.text,
        capped.charttime,
        capped.sequence_num,
        capped.is_first_result,
        capped.is_before_first_procedure
    from capped
    left join scrub_patterns on capped.hadm_id = scrub_patterns.hadm_id
)

select * from final
