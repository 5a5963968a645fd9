with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

admission_windows as (
    select * from {{ ref('int_cdm__admission_windows') }}
),

lab_events as (
    select * from {{ ref('int_cdm__lab_events') }}
),

culture_rows as (
    select * from {{ ref('int_cdm__culture_rows') }}
),

radiology_notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
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
    select
        hadm_id,
        is_before_first_procedure
    from {{ ref('cdm_lab_results') }}
    union all
    select
        hadm_id,
        is_before_first_procedure
    from {{ ref('cdm_microbiology_events') }}
    union all
    select
        hadm_id,
        is_before_first_procedure
    from {{ ref('cdm_radiology_reports') }}
),

-- The windows of admissions overlap now and then, and a row that names none is then of both.
events_in_two_admissions as (
    select
        'event_in_two_admissions' as finding,
        'labevents' as detail,
        count(*) as case_count
    from (
        select labevent_id from lab_events
        where is_assigned
        group by labevent_id
        having count(*) > 1
    ) as shared_lab_events
    union all
    select
        'event_in_two_admissions' as finding,
        'microbiologyevents' as detail,
        count(*) as case_count
    from (
        select microevent_id from culture_rows
        where is_assigned
        group by microevent_id
        having count(*) > 1
    ) as shared_culture_rows
    union all
    select
        'event_in_two_admissions' as finding,
        'radiology' as detail,
        count(*) as case_count
    from (
        select note_id from radiology_notes
        where is_assigned
        group by note_id
        having count(*) > 1
    ) as shared_radiology_notes
),

cultures_with_a_day_only as (
    select
        'culture_with_a_day_only' as finding,
        '' as detail,
        count(*) as case_count
    from microbiology_events
    inner join cohort on microbiology_events.hadm_id = cohort.hadm_id
    where microbiology_events.charttime is null
),

cases_with_events as (
    select
        hadm_id,
        count(*) filter (where is_before_first_procedure) as event_count_before_procedure
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
    where {{ 'false' if cdm_rules() == 'reference' else 'true' }}
    group by heading
    union all
    select
        'report_with_unknown_heading' as finding,
        '' as detail,
        count(distinct note_id) as case_count
    from unknown_headings
    where {{ 'false' if cdm_rules() == 'reference' else 'true' }}
),

all_findings as (
    select * from events_in_two_admissions
    union all
    select * from cultures_with_a_day_only
    union all
    select * from emptied_cases
    union all
    select * from cases_without_transfers
    union all
    select * from cases_without_admission
    union all
    select * from missing_sections
    union all
    select * from reports_with_odd_headings
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
