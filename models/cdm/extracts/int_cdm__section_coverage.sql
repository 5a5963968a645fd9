with heading_table as (
    select * from {{ ref('discharge_headings') }}
),

notes as (
    select * from {{ ref('int_cdm__discharge_notes') }}
),

sections as (
    select * from {{ ref('int_cdm__discharge_sections') }}
),

sections_of_template as (
    select distinct
        section_order,
        section
    from heading_table
),

note_count as (
    select count(*) as note_count from notes
),

section_counts as (
    select
        section_order,
        count(*) as note_count
    from sections
    group by section_order
),

final as (
    select
        sections_of_template.section_order,
        sections_of_template.section,
        cast(coalesce(section_counts.note_count, 0) as integer) as notes_with,
        cast(note_count.note_count - coalesce(section_counts.note_count, 0) as integer)
            as notes_without
    from sections_of_template
    cross join note_count
    left join section_counts
        on sections_of_template.section_order = section_counts.section_order
)

select * from final
