with headers as (
    select * from {{ ref('int_mtsamples__headers') }}
),

-- A header whose line is empty gives way to the next section.
ranked as (
    select
        source_index,
        section,
        section_text,
        row_number() over (partition by source_index order by priority asc) as section_rank
    from headers
    where section_text <> ''
),

final as (
    select
        source_index,
        section as extracted_section,
        section_text as answer
    from ranked
    where section_rank = 1
)

select * from final
