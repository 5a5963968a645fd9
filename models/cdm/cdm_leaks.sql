with cases as (
    select * from {{ ref('cdm_cases') }}
),

radiology_reports as (
    select * from {{ ref('int_cdm__shown_radiology_reports') }}
),

lab_results as (
    select * from {{ ref('int_cdm__shown_lab_results') }}
),

microbiology_events as (
    select * from {{ ref('int_cdm__shown_microbiology_events') }}
),

terms as (
    select * from {{ ref('cdm_scrub_terms') }}
),

stems as (
    select * from {{ ref('cdm_diagnosis_stems') }}
),

other_names as (
    select * from {{ ref('cdm_other_names') }}
),

-- Not the list by which sections are dropped: what that one misses, this one finds.
headings as (
    select
        phrase,
        {{ ascii_upper('phrase') }} as heading
    from {{ ref('cdm_concluding_phrases') }}
    where is_heading
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

shown_texts as {{ materialized(false) }} (
    {% for field, source, item, columns in [
        (
            'lab_results',
            'lab_results',
            'cast(labevent_id as ' ~ dbt.type_string() ~ ')',
            ['test_name', 'value_text'],
        ),
        ('history_of_present_illness', 'cases', "''", ['history_of_present_illness']),
        ('physical_exams', 'cases', "''", ['physical_exams']),
        ('radiology_reports', 'distinct_reports', 'note_id', ['exam_name', 'text']),
        (
            'microbiology_events',
            'microbiology_events',
            "concat(test_itemid, '-', coalesce(cast(sequence_num as "
            ~ dbt.type_string() ~ "), ''))",
            ['test_name', 'spec_type_desc', 'organism_name', 'comments'],
        ),
    ] %}
        {% set is_last_field = loop.last %}
        {% for column in columns %}
            select
                hadm_id,
                {{ item }} as item,
                '{{ field }}' as field,
                {{ column }} as shown_text
            from {{ source }}
            {% if not (is_last_field and loop.last) %}union all{% endif %}
        {% endfor %}
    {% endfor %}
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
    select min(length(term)) as shortest_word
    from (
        select term from diagnosis_words
        union all
        select name from other_names
    ) as all_words
),

-- Laboratory results are a million texts, but few different ones.
different_texts as {{ materialized() }} (
    select distinct shown_texts.shown_text
    from shown_texts
    cross join shortest_words
    where length(shown_texts.shown_text) >= shortest_words.shortest_word
),

lower_case_texts as {{ materialized() }} (
    select
        shown_text,
        {{ folded_case('shown_text') }} as lower_case_text
    from different_texts
),

texts_with_words as {{ materialized() }} (
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
        on position(diagnosis_words.term in lower_case_texts.lower_case_text) > 0
),

-- A short name is a whole word: "happy" is none.
texts_in_words as {{ materialized() }} (
    select
        shown_text,
        ' ' || replace({{ replace_all('lower_case_text', "'[^a-z]+'", "' '") }}, ' ', '  ') || ' '
            as text_in_words
    from lower_case_texts
    where {{ matches('lower_case_text', "'[a-z]{3}'") }}
),

texts_with_short_names as {{ materialized() }} (
    select
        texts_in_words.shown_text,
        other_names.pathology,
        'other_name' as kind,
        other_names.name as term,
        length(
            replace(
                texts_in_words.text_in_words,
                ' ' || replace(other_names.name, ' ', '  ') || ' ',
                ' ' || replace(other_names.name, ' ', '  ') || '  '
            )
        ) - length(texts_in_words.text_in_words) as hit_count
    from texts_in_words
    inner join other_names
        on
            other_names.is_name
            and position(
                ' ' || replace(other_names.name, ' ', '  ') || ' ' in texts_in_words.text_in_words
            ) > 0
),

pieces_with_long_words as (
    select
        shown_text,
        {{ parts_of(
            replace_all(
                'translate(lower_case_text, ' ~ word_start() ~ ' || ' ~ word_end() ~ ", '')",
                "'([a-z]{10,})'",
                word_start() ~ " || '\\1' || " ~ word_end()
            ),
            word_start(),
            'piece',
            'piece_number'
        ) }}
    from lower_case_texts
    where {{ matches('lower_case_text', "'[a-z]{10}'") }}
),

long_words as {{ materialized() }} (
    select
        shown_text,
        split_part(piece, {{ word_end() }}, 1) as word,
        count(*) as hit_count
    from pieces_with_long_words
    where piece_number > 1
    group by shown_text, split_part(piece, {{ word_end() }}, 1)
),

disease_names as (
    select distinct
        pathology as word,
        2 as most_left_out
    from terms
),

-- Few words have the length of a disease's name and nearly all its letters. Only they are compared.
likely_words as (
    select distinct
        long_words.word,
        2 as most_left_out
    from long_words
    inner join disease_names
        on
            length(long_words.word)
            between length(disease_names.word) - 2 and length(disease_names.word) + 2
            and length(translate(long_words.word, disease_names.word, '')) <= 2
    left join other_names on long_words.word = other_names.name
    where other_names.name is null
),

likely_spellings as (
    {{ shortened_spellings('likely_words') | indent(4) }}
),

name_spellings as (
    {{ shortened_spellings('disease_names') | indent(4) }}
),

misspelt_names as (
    select distinct
        likely_spellings.word,
        name_spellings.word as pathology
    from likely_spellings
    inner join name_spellings on likely_spellings.spelling = name_spellings.spelling
    where position(name_spellings.word in likely_spellings.word) = 0
),

texts_with_misspelt_names as (
    select
        long_words.shown_text,
        misspelt_names.pathology,
        'other_name' as kind,
        long_words.word as term,
        long_words.hit_count
    from long_words
    inner join misspelt_names on long_words.word = misspelt_names.word
),

texts_with_any_words as {{ materialized() }} (
    select * from texts_with_words
    union all
    select * from texts_with_short_names
    union all
    select * from texts_with_misspelt_names
),

words_in_texts as (
    select
        shown_texts.hadm_id,
        shown_texts.field,
        shown_texts.item,
        texts_with_any_words.kind,
        texts_with_any_words.term,
        texts_with_any_words.hit_count
    from shown_texts
    inner join texts_with_any_words on shown_texts.shown_text = texts_with_any_words.shown_text
    inner join cases
        on
            shown_texts.hadm_id = cases.hadm_id
            and texts_with_any_words.pathology = cases.pathology
),

lower_case_reports as {{ materialized() }} (
    select
        hadm_id,
        note_id,
        translate(text, {{ word_start() }} || {{ word_end() }}, '') as report,
        {{ folded_case('text') }} as lower_case_report
    from distinct_reports
),

reports_with_headings as {{ materialized() }} (
    select
        lower_case_reports.hadm_id,
        lower_case_reports.note_id,
        lower_case_reports.report,
        headings.phrase,
        headings.heading
    from lower_case_reports
    inner join headings on position(headings.phrase in lower_case_reports.lower_case_report) > 0
),

-- A heading stands in capitals, or with a colon; more cannot be told, since the reports have no
-- line breaks left. A mark replaces its words, so that the pattern is the same for all, and another
-- mark the heading that is found.
reports_without_capitals as {{ materialized() }} (
    select
        hadm_id,
        note_id,
        phrase,
        heading,
        {{ replace_all(
            'replace(report, heading, ' ~ word_start() ~ ')',
            "'(^|[^0-9A-Za-z_])' || " ~ word_start() ~ " || '(S|[(]S[)])?($|[^0-9A-Za-z_])'",
            "'\\1' || " ~ word_end() ~ " || '\\3'"
        ) }} as report
    from reports_with_headings
),

reports_without_headings as {{ materialized() }} (
    select
        hadm_id,
        note_id,
        heading,
        {{ replace_all(
            'replace(' ~ folded_case('report') ~ ', phrase, ' ~ word_start() ~ ')',
            "'(^|[^0-9a-z_])' || " ~ word_start() ~ " || '(s|[(]s[)])? *:'",
            "'\\1' || " ~ word_end()
        ) }} as report
    from reports_without_capitals
),

hits as (
    select * from words_in_texts
    union all
    select
        hadm_id,
        'radiology_reports' as field,
        note_id as item,
        'concluding_section' as kind,
        heading as term,
        length(report) - length(replace(report, {{ word_end() }}, '')) as hit_count
    from reports_without_headings
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
