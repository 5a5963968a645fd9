with radiology_reports as (
    select * from {{ ref('int_cdm__shown_radiology_reports') }}
),

radiology_notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

cases as (
    select * from {{ ref('cdm_cases') }}
),

phrases as (
    select * from {{ ref('cdm_concluding_phrases') }}
),

terms as (
    select * from {{ ref('cdm_scrub_terms') }}
),

-- Under the reference rules there may be copies of a report.
shown_reports as (
    select distinct
        hadm_id,
        note_id,
        text
    from radiology_reports
),

whole_reports as (
    select
        hadm_id,
        note_id,
        min({{ text_order('text') }}) as report
    from radiology_notes
    group by hadm_id, note_id
),

reports as {{ materialized() }} (
    select
        shown_reports.hadm_id,
        shown_reports.note_id,
        cases.pathology,
        {{ folded_case('shown_reports.text') }} as shown_text,
        {{ folded_case("replace(whole_reports.report, " ~ line_feed() ~ ", ' ')") }} as whole_text
    from shown_reports
    inner join whole_reports
        on
            shown_reports.hadm_id = whole_reports.hadm_id
            and shown_reports.note_id = whole_reports.note_id
    inner join cases on shown_reports.hadm_id = cases.hadm_id
),

-- A disease's name tells of the cases that have the disease.
sought as (
    select
        phrase,
        cast(null as {{ dbt.type_string() }}) as pathology
    from phrases
    union all
    select
        term as phrase,
        pathology
    from terms
),

report_counts as (
    select
        sought.phrase,
        sought.pathology,
        count(reports.note_id) as report_count
    from sought
    left join reports
        on sought.pathology is null or sought.pathology = reports.pathology
    group by sought.phrase, sought.pathology
),

-- What stands in a report more often than in what is shown of it was dropped, or scrubbed.
phrases_in_reports as (
    select
        sought.phrase,
        sought.pathology,
        position(sought.phrase in reports.shown_text) > 0 as is_shown,
        length(reports.whole_text) - length(replace(reports.whole_text, sought.phrase, ''))
        > length(reports.shown_text) - length(replace(reports.shown_text, sought.phrase, ''))
            as is_dropped
    from reports
    inner join sought
        on
            (sought.pathology is null or reports.pathology = sought.pathology)
            and (
                position(sought.phrase in reports.whole_text) > 0
                or position(sought.phrase in reports.shown_text) > 0
            )
),

counts as (
    select
        phrase,
        pathology,
        count(case when is_shown then 1 end) as shown_count,
        count(case when is_dropped then 1 end) as dropped_count
    from phrases_in_reports
    group by phrase, pathology
),

final as (
    select
        report_counts.phrase,
        report_counts.pathology,
        cast(report_counts.report_count as bigint) as report_count,
        cast(coalesce(counts.shown_count, 0) as bigint) as shown_count,
        cast(coalesce(counts.dropped_count, 0) as bigint) as dropped_count,
        cast(coalesce(counts.shown_count, 0) as {{ type_double() }})
        / nullif(report_counts.report_count, 0) as shown_share,
        cast(coalesce(counts.dropped_count, 0) as {{ type_double() }})
        / nullif(report_counts.report_count, 0) as dropped_share
    from report_counts
    left join counts
        on
            report_counts.phrase = counts.phrase
            and report_counts.pathology is not distinct from counts.pathology
)

select * from final
