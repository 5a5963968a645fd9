with modalities as (
    select * from {{ ref('radiology_modalities') }}
),

regions as (
    select * from {{ ref('radiology_regions') }}
),

keywords as (
    select
        'modality' as kind,
        category_order,
        modality as category,
        keyword,
        is_stem
    from modalities
    union all
    select
        'region' as kind,
        category_order,
        region as category,
        keyword,
        is_stem
    from regions
    where {{ 'in_reference' if var('cdm_rules') == 'reference' else 'in_specification' }}
),

marked_keywords as (
    select
        kind,
        category_order,
        category,
        keyword,
        is_stem,
        {{ searchable('keyword') }} as marked_keyword
    from keywords
),

final as (
    select
        kind,
        category_order,
        {% if is_true('pelvis_as_abdomen') %}
            case when category = 'Pelvis' then 'Abdomen' else category end as category,
        {% else %}
            category,
        {% endif %}
        keyword,
        {% if var('cdm_rules') == 'reference' %}
            -- Stems are whole words here, so they find nothing but themselves.
            marked_keyword as searched_keyword
        {% else %}
            case
                when is_stem then trim(trailing {{ word_end() }} from marked_keyword)
                else marked_keyword
            end as searched_keyword
        {% endif %}
    from marked_keywords
)

select * from final
