with radiology_reports as (
    select * from {{ ref('int_cdm__radiology_reports') }}
),

scrub_patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

-- What either mode shows: the first report of its kind whenever it was, and what no rule takes out.
-- Its text is scrubbed already.
final as (
    select
        reports.hadm_id,
        reports.note_id,
        {{ scrubbed_result('reports.exam_name', 'scrub_patterns') }} as exam_name,
        reports.modality,
        reports.region,
        reports.text,
        reports.charttime,
        reports.sequence_num,
        reports.exclusion
    from radiology_reports as reports
    left join scrub_patterns on reports.hadm_id = scrub_patterns.hadm_id
    where reports.sequence_num = 1 or reports.exclusion is null
)

select * from final
