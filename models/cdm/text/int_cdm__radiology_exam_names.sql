with notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

keywords as (
    select * from {{ ref('int_cdm__radiology_keywords') }}
),

exam_names as (
    select distinct exam_name
    from notes
    where exam_name is not null
),

shadows as (
    select
        exam_name,
        {{ shadow('exam_name') }} as exam_shadow
    from exam_names
),

searchable_names as {{ materialized() }} (
    select
        exam_name,
        {{ searchable('exam_shadow') }} as searchable_name
    from shadows
),

-- The first category in their order that has a keyword in the name.
found as (
    select
        searchable_names.exam_name,
        keywords.kind,
        keywords.category,
        row_number() over (
            partition by searchable_names.exam_name, keywords.kind
            order by keywords.category_order, {{ text_order('keywords.keyword') }}
        ) as place
    from searchable_names
    inner join keywords
        on position(keywords.searched_keyword in searchable_names.searchable_name) > 0
),

final as (
    select
        searchable_names.exam_name,
        coalesce(
            modalities.category,
            -- A plain film of the chest often names its views only.
            case
                when
                    {{ starts_with(
                        'searchable_names.searchable_name', word_start() ~ " || 'CHEST'"
                    ) }}
                    then 'Radiograph'
            end
        ) as modality,
        regions.category as region
    from searchable_names
    left join found as modalities
        on
            searchable_names.exam_name = modalities.exam_name
            and modalities.kind = 'modality'
            and modalities.place = 1
    left join found as regions
        on
            searchable_names.exam_name = regions.exam_name
            and regions.kind = 'region'
            and regions.place = 1
)

select * from final
