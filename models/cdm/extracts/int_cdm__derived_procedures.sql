with sections as (
    select * from {{ ref('int_cdm__discharge_sections') }}
    where section = 'major_surgical_or_invasive_procedure'
),

section_lines as (
    select
        sections.hadm_id,
        split_lines.line_number,
        {{ trimmed('split_lines.text_line') }} as text_line
    from sections
    cross join
        lateral unnest(string_to_array(sections.text, chr(10)))
        with ordinality as split_lines (text_line, line_number)
),

with_bullets as materialized (
    select
        *,
        {{ with_plain_bullets('text_line') }} as bulleted_line
    from section_lines
),

shadows as materialized (
    select
        *,
        lower({{ shadow('bulleted_line') }}) as shadow_line
    from with_bullets
),

without_marks as materialized (
    select
        *,
        right(text_line, length({{ without_list_mark('shadow_line') }})) as entry
    from shadows
),

-- A line goes on where the one before it ended, unless it begins with a mark of a list, a masked
-- date or a word for an earlier operation.
joined as (
    select
        hadm_id,
        string_agg(
            case
                when
                    entry <> text_line
                    or shadow_line ~ '^(___:|s/p|status post|prior|history of)'
                    then ' . ' || entry
                else ' ' || entry
            end,
            '' order by line_number asc
        ) || ' ' as procedure_text
    from without_marks
    group by hadm_id
),

parts as (
    select
        joined.hadm_id,
        parts.part_number,
        {{ trimmed('parts.part') }} as title
    from joined
    cross join
        lateral unnest(regexp_split_to_array(joined.procedure_text, ': |, |[.] | - '))
        with ordinality as parts (part, part_number)
),

folded as (
    select
        *,
        lower({{ shadow('title') }}) as shadow_title
    from parts
),

-- Notes without a procedure say so in words or by a mask.
named as (
    select * from folded
    where
        {{ names_something('title') }}
        and shadow_title !~ '^(none|nil|no|n/a|na)( on)?[ ._]*$'
),

final as (
    select
        hadm_id,
        cast(row_number() over (partition by hadm_id order by part_number asc) as integer)
            as seq_num,
        title,
        shadow_title
        ~ '(^|[^0-9_a-z])(s/p|status post|prior|history of)([^0-9_a-z]|$)' as is_previous
    from named
)

select * from final
