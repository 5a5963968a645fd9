with lines as (
    select * from {{ ref('int_cdm__radiology_lines') }}
),

misspelt_headings as (
    select * from {{ ref('int_cdm__radiology_misspelt_headings') }}
),

unknown_headings as (
    select * from {{ ref('int_cdm__radiology_unknown_headings') }}
),

places as (
    select
        lines.note_id,
        lines.line_number,
        position(misspelt_headings.found_text in lines.line_shadow) as place,
        length(misspelt_headings.found_text) as heading_length,
        misspelt_headings.part,
        misspelt_headings.difference
    from misspelt_headings
    inner join lines
        on
            misspelt_headings.note_id = lines.note_id
            and misspelt_headings.line_number = lines.line_number
    union all
    -- Nobody knows what follows, so it may be a conclusion.
    select
        note_id,
        line_number,
        1 as place,
        0 as heading_length,
        'conclusion' as part,
        0 as difference
    from unknown_headings
),

-- One heading of a line counts, a conclusion rather than another, and the best spelt.
numbered_places as (
    select
        *,
        row_number() over (
            partition by note_id, line_number
            order by
                case part when 'conclusion' then 1 when 'findings' then 2 else 3 end,
                difference asc nulls last,
                place asc nulls last,
                heading_length desc nulls last
        ) as place_number
    from places
    where place > 0
),

final as (
    select
        note_id,
        line_number,
        place,
        heading_length,
        part
    from numbered_places
    where place_number = 1
)

select * from final
