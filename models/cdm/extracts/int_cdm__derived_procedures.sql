with sections as (
    select * from {{ ref('int_cdm__discharge_sections') }}
    where section = 'major_surgical_or_invasive_procedure'
),

section_lines as (
    select
        hadm_id,
        {{ parts_of('text', line_feed(), 'text_line', 'line_number') }}
    from sections
),

trimmed_lines as (
    select
        hadm_id,
        line_number,
        {{ trimmed('text_line') }} as text_line
    from section_lines
),

with_bullets as {{ materialized() }} (
    select
        *,
        {{ with_plain_bullets('text_line') }} as bulleted_line
    from trimmed_lines
),

shadows as {{ materialized() }} (
    select
        *,
        {{ ascii_lower(shadow('bulleted_line')) }} as shadow_line
    from with_bullets
),

without_marks as {{ materialized() }} (
    select
        *,
        right(text_line, length({{ without_list_mark('shadow_line') }})) as entry
    from shadows
),

-- A line goes on where the one before it ended, unless it begins with a mark of a list, a masked
-- date or a word for an earlier operation.
continued_entries as (
    select
        hadm_id,
        line_number,
        case
            when
                entry <> text_line
                or {{ matches('shadow_line', "'^(___:|s/p|status post|prior|history of)'") }}
                then ' . ' || entry
            else ' ' || entry
        end as continued_entry
    from without_marks
),

joined as (
    select
        hadm_id,
        {{ joined_texts('continued_entry', "''", order_by='line_number asc') }} || ' '
            as procedure_text
    from continued_entries
    group by hadm_id
),

parts as (
    select
        hadm_id,
        {{ parts_between_matches('procedure_text', "': |, |[.] | - '", 'part', 'part_number') }}
    from joined
),

titles as (
    select
        hadm_id,
        part_number,
        {{ trimmed('part') }} as title
    from parts
),

folded as (
    select
        *,
        {{ ascii_lower(shadow('title')) }} as shadow_title
    from titles
),

-- Notes without a procedure say so in words or by a mask.
named as (
    select * from folded
    where
        {{ names_something('title') }}
        and not {{ matches('shadow_title', "'^(none|nil|no|n/a|na)( on)?[ ._]*$'") }}
),

final as (
    select
        hadm_id,
        cast(row_number() over (partition by hadm_id order by part_number asc) as integer)
            as seq_num,
        title,
        {{ matches(
            'shadow_title',
            "'(^|[^0-9_a-z])(s/p|status post|prior|history of)([^0-9_a-z]|$)'"
        ) }} as is_previous
    from named
)

select * from final
