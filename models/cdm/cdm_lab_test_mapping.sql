with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

d_labitems as (
    select * from {{ ref('stg_cdm__d_labitems') }}
),

lab_results as (
    select * from {{ ref('int_cdm__lab_results') }}
),

culture_rows as (
    select * from {{ ref('int_cdm__culture_rows') }}
),

lab_tests as (
    select
        itemid,
        label,
        fluid,
        category
    from d_labitems
    where label is not null
),

-- There is no dictionary of cultures: their tests are those of the events, each name once.
culture_tests as (
    select distinct
        test_itemid as itemid,
        test_name as label
    from culture_rows
    where
        test_itemid is not null
        and test_name is not null
),

tests as (
    select
        itemid,
        label,
        fluid,
        category
    from lab_tests
    union all
    select
        itemid,
        label,
        cast(null as {{ dbt.type_string() }}) as fluid,
        cast(null as {{ dbt.type_string() }}) as category
    from culture_tests
),

result_counts as (
    select
        lab_results.itemid,
        cast(null as {{ dbt.type_string() }}) as label,
        count(*) as result_count
    from lab_results
    inner join cohort on lab_results.hadm_id = cohort.hadm_id
    group by lab_results.itemid
    union all
    select
        culture_rows.test_itemid as itemid,
        culture_rows.test_name as label,
        count(*) as result_count
    from culture_rows
    inner join cohort on culture_rows.hadm_id = cohort.hadm_id
    group by culture_rows.test_itemid, culture_rows.test_name
),

items_of_labels as (
    select distinct
        label,
        itemid
    from tests
),

-- Whole numbers are the same text on every engine.
corresponding as (
    select
        label,
        {{ joined_texts(
            'cast(itemid as ' ~ dbt.type_string() ~ ')', "','", order_by='itemid'
        ) }} as corresponding_ids
    from items_of_labels
    group by label
),

final as (
    select
        tests.itemid,
        tests.label,
        tests.fluid,
        tests.category,
        coalesce(result_counts.result_count, 0) as result_count,
        corresponding.corresponding_ids
    from tests
    inner join corresponding on tests.label = corresponding.label
    left join result_counts
        on
            tests.itemid = result_counts.itemid
            and (result_counts.label is null or tests.label = result_counts.label)
)

select * from final
