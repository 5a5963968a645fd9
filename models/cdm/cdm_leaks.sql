with cases as (
    select * from {{ ref('cdm_cases') }}
),

radiology_reports as (
    select * from {{ ref('cdm_radiology_reports') }}
),

lab_results as (
    select * from {{ ref('cdm_lab_results') }}
),

microbiology_events as (
    select * from {{ ref('cdm_microbiology_events') }}
),

terms as (
    select * from {{ ref('cdm_scrub_terms') }}
),

stems as (
    select * from {{ ref('cdm_diagnosis_stems') }}
),

headings as (
    select * from {{ ref('radiology_section_headings') }}
    where part = 'conclusion' and is_told_by_capital
),

-- The reference may hold copies of a report.
distinct_reports as (
    select distinct
        hadm_id,
        note_id,
        exam_name,
        text
    from radiology_reports
),

numbered_events as (
    select
        *,
        concat(test_itemid, '-', sequence_num) as event_id
    from microbiology_events
),

shown_texts as not materialized (
    select
        hadm_id,
        cast(labevent_id as {{ dbt.type_string() }}) as item,
        'lab_results' as field,
        test_name as shown_text
    from lab_results
    union all
    select
        hadm_id,
        cast(labevent_id as {{ dbt.type_string() }}) as item,
        'lab_results' as field,
        value_text as shown_text
    from lab_results
    union all
    select
        hadm_id,
        '' as item,
        'history_of_present_illness' as field,
        history_of_present_illness as shown_text
    from cases
    union all
    select
        hadm_id,
        '' as item,
        'physical_exams' as field,
        physical_exams as shown_text
    from cases
    union all
    select
        hadm_id,
        note_id as item,
        'radiology_reports' as field,
        exam_name as shown_text
    from distinct_reports
    union all
    select
        hadm_id,
        note_id as item,
        'radiology_reports' as field,
        text as shown_text
    from distinct_reports
    union all
    select
        hadm_id,
        event_id as item,
        'microbiology_events' as field,
        test_name as shown_text
    from numbered_events
    union all
    select
        hadm_id,
        event_id as item,
        'microbiology_events' as field,
        spec_type_desc as shown_text
    from numbered_events
    union all
    select
        hadm_id,
        event_id as item,
        'microbiology_events' as field,
        organism_name as shown_text
    from numbered_events
    union all
    select
        hadm_id,
        event_id as item,
        'microbiology_events' as field,
        comments as shown_text
    from numbered_events
),

diagnosis_words as (
    select
        pathology,
        'scrub_term' as kind,
        term
    from terms
    union all
    select
        pathology,
        'stem' as kind,
        stem as term
    from stems
),

shortest_words as (
    select min(length(term)) as shortest_word from diagnosis_words
),

-- Laboratory results are a million texts, but few different ones.
different_texts as materialized (
    select distinct shown_texts.shown_text
    from shown_texts
    cross join shortest_words
    where length(shown_texts.shown_text) >= shortest_words.shortest_word
),

lower_case_texts as materialized (
    select
        shown_text,
        lower(shown_text) as lower_case_text
    from different_texts
),

texts_with_words as materialized (
    select
        lower_case_texts.shown_text,
        diagnosis_words.pathology,
        diagnosis_words.kind,
        diagnosis_words.term,
        length(
            replace(
                lower_case_texts.lower_case_text,
                diagnosis_words.term,
                diagnosis_words.term || '_'
            )
        ) - length(lower_case_texts.lower_case_text) as hit_count
    from lower_case_texts
    inner join diagnosis_words
        on strpos(lower_case_texts.lower_case_text, diagnosis_words.term) > 0
),

words_in_texts as (
    select
        shown_texts.hadm_id,
        shown_texts.field,
        shown_texts.item,
        texts_with_words.kind,
        texts_with_words.term,
        texts_with_words.hit_count
    from shown_texts
    inner join texts_with_words on shown_texts.shown_text = texts_with_words.shown_text
    inner join cases
        on
            shown_texts.hadm_id = cases.hadm_id
            and texts_with_words.pathology = cases.pathology
),

upper_case_reports as materialized (
    select
        hadm_id,
        note_id,
        translate(text, {{ word_start() }} || {{ word_end() }}, '') as report,
        upper(text) as upper_case_report
    from distinct_reports
),

reports_with_headings as materialized (
    select
        upper_case_reports.hadm_id,
        upper_case_reports.note_id,
        upper_case_reports.report,
        headings.heading
    from upper_case_reports
    inner join headings on strpos(upper_case_reports.upper_case_report, headings.heading) > 0
),

-- A heading stands in capitals, or with a colon; more cannot be told, since the reports have no
-- line breaks left. A mark replaces its words, so that the pattern is the same for all, and another
-- mark the heading that is found.
reports_without_capitals as materialized (
    select
        hadm_id,
        note_id,
        heading,
        regexp_replace(
            replace(report, heading, {{ word_start() }}),
            '(^|[^0-9A-Za-z_])' || {{ word_start() }} || '(S|[(]S[)])?($|[^0-9A-Za-z_])',
            '\1' || {{ word_end() }} || '\3',
            'g'
        ) as report
    from reports_with_headings
),

reports_without_headings as materialized (
    select
        hadm_id,
        note_id,
        heading,
        regexp_replace(
            replace(upper(report), heading, {{ word_start() }}),
            '(^|[^0-9A-Z_])' || {{ word_start() }} || '(S|[(]S[)])? *:',
            '\1' || {{ word_end() }},
            'g'
        ) as report
    from reports_without_capitals
),

headings_in_texts as (
    select
        hadm_id,
        'radiology_reports' as field,
        note_id as item,
        'concluding_section' as kind,
        heading as term,
        length(report) - length(replace(report, {{ word_end() }}, '')) as hit_count
    from reports_without_headings
),

hits as (
    select * from words_in_texts
    union all
    select * from headings_in_texts
),

final as (
    select
        hadm_id,
        field,
        item,
        kind,
        term,
        cast(sum(hit_count) as integer) as hit_count
    from hits
    where hit_count > 0
    group by hadm_id, field, item, kind, term
)

select * from final
