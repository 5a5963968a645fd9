with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

admission_windows as (
    select * from {{ ref('int_cdm__admission_windows') }}
),

event_admissions as (
    select * from {{ ref('int_cdm__event_admissions') }}
),

misspelt_headings as (
    select * from {{ ref('int_cdm__radiology_misspelt_headings') }}
),

unknown_headings as (
    select * from {{ ref('int_cdm__radiology_unknown_headings') }}
),

microbiology_events as (
    select * from {{ ref('int_cdm__microbiology_events') }}
),

section_coverage as (
    select * from {{ ref('int_cdm__section_coverage') }}
),

shown_events as (
    {% for events in ['lab_results', 'microbiology_events', 'radiology_reports'] %}
        select
            hadm_id,
            exclusion
        from {{ ref('int_cdm__shown_' ~ events) }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

-- The windows of admissions overlap now and then, and a row that names none is then of both.
shared_events as (
    select
        source_table,
        event_id
    from event_admissions
    group by source_table, event_id
    having count(*) > 1
),

events_in_two_admissions as (
    select
        'event_in_two_admissions' as finding,
        source_table as detail,
        count(*) as case_count
    from shared_events
    group by source_table
),

cultures_with_a_day_only as (
    select
        'culture_with_a_day_only' as finding,
        '' as detail,
        count(*) as case_count
    from microbiology_events
    where charttime is null
),

cases_with_events as (
    select
        hadm_id,
        count(*) filter (where exclusion is null) as event_count_before_procedure
    from shown_events
    group by hadm_id
),

-- The procedure was done before anything was measured, or on the same day.
emptied_cases as (
    select
        'case_emptied_by_first_procedure' as finding,
        '' as detail,
        count(*) as case_count
    from cases_with_events
    where event_count_before_procedure = 0
),

cases_without_transfers as (
    select
        'case_without_transfers' as finding,
        '' as detail,
        count(*) as case_count
    from cohort
    left join admission_windows on cohort.hadm_id = admission_windows.hadm_id
    where admission_windows.hadm_id is null
),

cases_without_admission as (
    select
        'case_without_admission_row' as finding,
        '' as detail,
        count(*) as case_count
    from cohort
    where subject_id is null
),

missing_sections as (
    select
        'note_without_section' as finding,
        section as detail,
        notes_without as case_count
    from section_coverage
),

-- Only the specification's rules read these.
reports_with_odd_headings as (
    select
        'report_with_misspelt_heading' as finding,
        heading as detail,
        count(distinct note_id) as case_count
    from misspelt_headings
    where {{ 'false' if var('cdm_rules') == 'reference' else 'true' }}
    group by heading
    union all
    select
        'report_with_unknown_heading' as finding,
        '' as detail,
        count(distinct note_id) as case_count
    from unknown_headings
    where {{ 'false' if var('cdm_rules') == 'reference' else 'true' }}
),

all_findings as (
    {% for finding in [
        'events_in_two_admissions',
        'cultures_with_a_day_only',
        'emptied_cases',
        'cases_without_transfers',
        'cases_without_admission',
        'missing_sections',
        'reports_with_odd_headings',
    ] %}
        select * from {{ finding }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

final as (
    select
        finding,
        detail,
        cast(case_count as bigint) as case_count
    from all_findings
    where case_count > 0
)

select * from final
