with diagnoses as (
    select * from {{ ref('stg_cdm__diagnoses_icd') }}
),

titles as (
    select * from {{ ref('stg_cdm__d_icd_diagnoses') }}
),

title_parts as (
    select * from {{ ref('cdm_selection_titles') }}
),

codes as (
    select distinct
        titles.icd_code,
        titles.icd_version,
        title_parts.pathology_order,
        title_parts.pathology
    from titles
    inner join title_parts
        on position(title_parts.title_part in {{ folded_case('titles.long_title') }}) > 0
),

final as (
    select distinct
        diagnoses.hadm_id,
        codes.pathology_order,
        codes.pathology
    from diagnoses
    inner join codes
        on
            diagnoses.icd_code = codes.icd_code
            and diagnoses.icd_version = codes.icd_version
    {% if var('cdm_cohort_file') %}
        -- The list decides; the codes may not even be there.
        where false
    {% endif %}
)

select * from final
