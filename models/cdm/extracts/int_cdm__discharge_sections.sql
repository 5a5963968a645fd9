with notes as (
    select * from {{ ref('int_cdm__discharge_notes') }}
),

headings as (
    select * from {{ ref('int_cdm__discharge_headings') }}
),

section_headings as (
    select * from headings
    where form <> 'end'
),

first_lines as (
    select
        *,
        min(line_number) over (partition by hadm_id, section_order) as first_line_number
    from section_headings
),

-- The line at which every earlier section of the template has been seen.
lines_before as (
    select
        *,
        max(first_line_number) over (
            partition by hadm_id
            order by section_order asc
            range between unbounded preceding and 1 preceding
        ) as line_before
    from first_lines
),

-- A section begins at its first heading behind the earlier sections: the history may quote an exam.
-- In a note of another order it is the first of all. Diagnosis and condition may have been written
-- before; their last heading counts.
chosen_lines as (
    select
        *,
        case
            when section in ('discharge_diagnosis', 'discharge_condition')
                then max(line_number) over (partition by hadm_id, section_order)
            else
                coalesce(
                    min(case when line_number > line_before then line_number end) over (
                        partition by hadm_id, section_order
                    ),
                    first_line_number
                )
        end as chosen_line_number
    from lines_before
),

-- A section runs to the next heading that begins one; a label in its text does not end it.
chosen as (
    select
        *,
        lead(line_number) over (
            partition by hadm_id
            order by line_number asc
        ) as next_line_number
    from chosen_lines
    where line_number = chosen_line_number
),

-- The list of diagnoses ends at any heading of a later section, and at some of its own.
diagnosis_ends as (
    select
        chosen.hadm_id,
        chosen.section_order,
        min(headings.line_number) as end_line_number
    from headings
    inner join chosen
        on
            headings.hadm_id = chosen.hadm_id
            and headings.line_number > chosen.line_number
            and (headings.form = 'end' or headings.section_order > chosen.section_order)
    where chosen.section = 'discharge_diagnosis'
    group by chosen.hadm_id, chosen.section_order
),

bounded as (
    select
        chosen.*,
        case
            when
                diagnosis_ends.end_line_number < chosen.next_line_number
                or chosen.next_line_number is null
                then diagnosis_ends.end_line_number
            else chosen.next_line_number
        end as end_line_number
    from chosen
    left join diagnosis_ends
        on
            chosen.hadm_id = diagnosis_ends.hadm_id
            and chosen.section_order = diagnosis_ends.section_order
),

note_lines as {{ materialized() }} (
    select
        hadm_id,
        {{ lines_of('text') }} as text_lines
    from notes
),

cut as {{ materialized() }} (
    select
        bounded.*,
        -- The line of the heading counts from its colon on, then come the lines to the end.
        {{ line_at('note_lines.text_lines', 'bounded.colon_line_number') }} as heading_line,
        {{ lines_between(
            'note_lines.text_lines',
            'bounded.colon_line_number + 1',
            'coalesce(bounded.end_line_number - 1, 1000000)'
        ) }} as other_lines
    from bounded
    inner join note_lines on bounded.hadm_id = note_lines.hadm_id
),

trimmed_texts as (
    select
        *,
        {{ trimmed(
            "substr(heading_line, position(':' in heading_line) + 1) || " ~ line_feed()
            ~ " || coalesce(other_lines, '')"
        ) }} as section_text
    from cut
),

final as (
    select
        hadm_id,
        note_id,
        section_order,
        section,
        heading,
        line_number,
        case
            -- Procedures end at the first blank line.
            when section = 'major_surgical_or_invasive_procedure'
                then
                    {{ replace_first(
                        'section_text', "'(?s)\\n[' || " ~ white_space() ~ " || ']*\\n.*'", "''"
                    ) }}
            else section_text
        end as text
    from trimmed_texts
)

select * from final
