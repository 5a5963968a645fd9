{{ config(materialized='view') }}

with discharge_sections as (
    select * from {{ ref('int_cdm__discharge_sections') }}
),

final as (
    select
        hadm_id,
        note_id,
        section_order,
        section,
        heading,
        line_number,
        text
    from discharge_sections
)

select * from final
