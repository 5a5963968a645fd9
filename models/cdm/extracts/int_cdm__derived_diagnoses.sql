with sections as (
    select * from {{ ref('int_cdm__discharge_sections') }}
    where section = 'discharge_diagnosis'
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

-- `secondary to` names a cause, and does not begin the secondary diagnoses.
with_parts as {{ materialized() }} (
    select
        *,
        position(
            'secondary' in replace(
                replace({{ replace_all('shadow_line', "' +'", "' '") }}, 'with secondary', ''),
                'secondary to', ''
            )
        ) > 0 as begins_secondary_part
    from shadows
),

-- A number or bullet may stand before a label, and behind it.
without_marks as {{ materialized() }} (
    select
        *,
        {{ without_list_mark('shadow_line') }} as shadow_text
    from with_parts
),

-- As in `Primary Diagnosis: ...` or `Final dx: ...`, whichever diagnosis it names; a line may be
-- nothing else. Without a colon the words belong to a name, as in `Primary biliary cirrhosis`.
without_labels as {{ materialized() }} (
    select
        *,
        trim(leading ' ' from {{ replace_first(
                'shadow_text',
                "'^((primary|secondary|active|discharge|([a-z_]+[ /-]+){0,3}(diagnos[ei]s|dx))[ /]*)+(:|$)'",
                "''"
            ) }}) as shadow_name
    from without_marks
),

titles as {{ materialized() }} (
    select
        hadm_id,
        line_number,
        {{ trimmed("right(text_line, length(" ~ without_list_mark('shadow_name') ~ "))") }}
            as title,
        min(case when begins_secondary_part then line_number end) over (partition by hadm_id)
            as secondary_line_number
    from without_labels
),

final as (
    select
        hadm_id,
        cast(row_number() over (partition by hadm_id order by line_number asc) as integer)
            as seq_num,
        title,
        coalesce(line_number < secondary_line_number, true) as is_primary
    from titles
    where {{ names_something('title') }}
)

select * from final
