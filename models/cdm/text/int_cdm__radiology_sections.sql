{#- Both are named, so that both exist whatever the rules; nobody reads the other one. -#}
{% set listed_sections = ref('int_cdm__radiology_listed_sections') %}
{% set findings_sections = ref('int_cdm__radiology_findings_sections') %}

with sections as (
    select *
    from {{ listed_sections if var('cdm_rules') == 'reference' else findings_sections }}
),

final as (
    select
        note_id,
        section_number,
        heading,
        body
    from sections
)

select * from final
