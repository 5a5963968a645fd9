{#- A sign that no shadow holds, since it is not ASCII. -#}
{%- set heading_mark = text_of_code_points([182]) -%}

-- An exam section may go on after the first exam, with results or with another exam. As in
-- `int_cdm__exams_before_discharge`, the steps search a lower-case shadow and shorten it.
with exams as (
    select * from {{ ref('int_cdm__exams_before_discharge') }}
),

-- "Labs and imaging" is one heading with plain blanks only. A shadow makes blanks of other white
-- space, so here that is a line feed first.
spaced_exams as {{ materialized() }} (
    select
        hadm_id,
        exam,
        case
            when {{ matches_in_any_case('exam', "'(?s)" ~ any_case('labs.and.imaging') ~ "'") }}
                then {{ with_line_feeds('exam') }}
            else exam
        end as spaced_exam
    from exams
),

shadowed_exams as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ ascii_lower(shadow('spaced_exam')) }} as shadow
    from spaced_exams
),

-- "ADMISSION Labs:" belongs to the exam. The sign between becomes a word character, so that the
-- second word is none any more. Two signs do not protect.
shielded_results as {{ materialized() }} (
    select
        hadm_id,
        exam,
        case
            when position('admission' in shadow) = 0 then shadow
            else {{ replace_all(
                'shadow',
                "'admission[ \\n](labs|laboratory|imaging|diagnostics)'",
                "'admission_\\1'"
            ) }}
        end as shadow
    from shadowed_exams
),

-- Rule 10: results, from their heading on.
without_results as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from(
            '<(labs and imaging|labs|laboratory|imaging|diagnostics)~*:',
            'labs', 'laboratory', 'imaging', 'diagnostics'
        ) }} as shadow
    from shielded_results
),

exams_without_results as {{ materialized() }} (
    select
        hadm_id,
        exam,
        left({{ ascii_lower(shadow('exam')) }}, length(shadow)) as shadow
    from without_results
),

-- "Scrotal exam:" and "Pelvic exam:" belong to the exam: their colon goes, for the next two steps.
shielded_exams as {{ materialized() }} (
    select
        hadm_id,
        exam,
        shadow,
        case
            when position('exam:' in shadow) = 0 then shadow
            else
                {{ replace_all(
                    'shadow', "'(scrotal|pelvic)([ \\n])exam:'", "'\\1\\2exam;'"
                ) }}
        end as shielded_shadow
    from exams_without_results
),

-- Rule 11: a heading of an exam, at most 15 characters after a line break. It needs no boundary:
-- "CVS:" holds "VS:". The line break becomes a mark, which a shadow cannot hold.
marked_headings as {{ materialized() }} (
    select
        hadm_id,
        shielded_shadow,
        {{ replace_all(
            'shielded_shadow',
            "'\\n([^\\n]{0,15}(physical[ \\n]+exam:?|transfer[ \\n]+exam:|examination:|exam:'"
            ~ " || '|p/e:|pe:|vs:|vital[ \\n]+signs:|ama:))'",
            heading_mark ~ " || '\\1'"
        ) }} as marked_shadow
    from shielded_exams
    where {{ matches('substr(shielded_shadow, 202)', "'exam|p/?e:|vs:|signs:|ama:'") }}
),

heading_parts as (
    select
        hadm_id,
        {{ parts_of('marked_shadow', heading_mark, 'part', 'part_number') }}
    from marked_headings
),

-- The characters before the mark that begins a part.
heading_positions as (
    select
        hadm_id,
        cast(
            sum(length(part) + 1) over (
                partition by hadm_id
                order by part_number asc nulls last
                rows between unbounded preceding and 1 preceding
            ) as integer
        ) - 1 as position_in_exam
    from heading_parts
),

-- Only after 200 characters, and not where the first exam goes on: Gen: or HEENT: within the 22
-- characters from the line break on.
second_exams as (
    select
        marked_headings.hadm_id,
        min(heading_positions.position_in_exam) as position_in_exam
    from heading_positions
    inner join marked_headings on heading_positions.hadm_id = marked_headings.hadm_id
    where
        heading_positions.position_in_exam > 200
        and not {{ matches(
            'substr(marked_headings.shielded_shadow, heading_positions.position_in_exam + 1, 22)',
            "'" ~ shadow_pattern('<(gen|heent)~*:') ~ "'"
        ) }}
    group by marked_headings.hadm_id
),

without_second_exam as {{ materialized() }} (
    select
        shielded_exams.hadm_id,
        left(
            shielded_exams.exam,
            length(
                case
                    when second_exams.position_in_exam is null then shielded_exams.shadow
                    else {{ without_end_space(
                        "left(shielded_exams.shadow, second_exams.position_in_exam)"
                    ) }}
                end
            )
        ) as exam
    from shielded_exams
    left join second_exams on shielded_exams.hadm_id = second_exams.hadm_id
),

-- Rule 12: the words that stand before an exam at an early departure.
without_early_departure as {{ materialized() }} (
    select
        hadm_id,
        {{ trimmed("replace(exam, 'Prior to leaving AMA...', '')") }} as exam
    from without_second_exam
),

shadowed_first_exams as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ ascii_lower(shadow('exam')) }} as shadow
    from without_early_departure
),

-- The first "HEENT:" is taken out of the search for a second one.
blunted_heent as {{ materialized() }} (
    select
        hadm_id,
        exam,
        case
            when position('heent' in shadow) = 0 then shadow
            else
                {{ replace_first(
                    'shadow', "'" ~ shadow_pattern('<heent(~*):') ~ "'", "'\\1first\\2;'"
                ) }}
        end as shadow
    from shadowed_first_exams
),

-- Rule 13: a second "HEENT:".
without_second_heent as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from('<heent~*:', 'heent') }} as shadow
    from blunted_heent
),

-- Rule 14: vital signs in a row, after 200 characters. Only the first such row is looked at.
without_vitals_line as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {% set without_vitals = cut_from(
            '()~+t[0-9]+[.]?[0-9]*~+hr~+[0-9]+~+bp~+[0-9]+/[0-9]', 'bp'
        ) -%}
        case
            when length({{ without_vitals }}) > 200 then {{ without_vitals }}
            else shadow
        end as shadow
    from without_second_heent
),

-- Rule 15: "WBC 12.5" between white space.
without_blood_count as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from('()~+wbc~+[0-9]+[.]?[0-9]*,?~', 'wbc') }} as shadow
    from without_vitals_line
),

final as (
    select
        hadm_id,
        left(exam, length(shadow)) as exam
    from without_blood_count
)

select * from final
