{% set cohort_file = dbt.escape_single_quotes(var('cdm_cohort_file')) %}
{% set cohort_source = 'list' if cohort_file else 'selection' %}
with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

final as (
    select
        '{{ var('cdm_rules') }}' as rules,
        '{{ var('cdm_extract_source') }}' as extract_source,
        '{{ cohort_source }}' as cohort_source,
        '{{ cohort_file }}' as cohort_file,
        cast('{{ var("pelvis_as_abdomen") }}' as boolean) as pelvis_as_abdomen,
        count(*) as case_count
    from cohort
)

select * from final
