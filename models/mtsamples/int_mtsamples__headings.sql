with notes as (
    select * from {{ ref('int_mtsamples__notes') }}
),

-- Unlike a section, a heading starts its line.
lines as (
    select
        source_index,
        concat({{ line_feed() }}, note_text) as note_lines
    from notes
),

final as (
    select
        source_index,
        nullif(
            {{ line_after('note_lines', "concat(" ~ line_feed() ~ ", 'Medical Specialty:')") }}, ''
        ) as medical_specialty,
        nullif(
            {{ line_after('note_lines', "concat(" ~ line_feed() ~ ", 'Sample Name:')") }}, ''
        ) as sample_name
    from lines
)

select * from final
