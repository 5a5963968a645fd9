with notes as (
    select * from {{ ref('int_mtsamples__notes') }}
),

sections as (
    select * from {{ ref('mtsamples_sections') }}
),

-- It is found wherever it stands: most headers follow a sentence without a line end.
final as (
    select
        notes.source_index,
        sections.section,
        sections.priority,
        cast(position(sections.header in notes.note_text) as integer) as header_position,
        {{ line_after('notes.note_text', 'sections.header') }} as section_text
    from notes
    cross join sections
    where position(sections.header in notes.note_text) > 0
)

select * from final
