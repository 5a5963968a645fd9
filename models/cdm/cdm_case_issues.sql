with cases as (
    select * from {{ ref('cdm_cases') }}
),

histories as (
    select * from {{ ref('int_cdm__histories') }}
),

lab_results as (
    select * from {{ ref('int_cdm__shown_lab_results') }}
),

microbiology_events as (
    select * from {{ ref('int_cdm__shown_microbiology_events') }}
),

{% for part in ['history', 'past_history'] -%}
    missing_{{ part }} as (
        select
            cases.hadm_id,
            '{{ part }}_missing' as issue,
            true as in_first_only,
            true as in_extended
        from cases
        inner join histories on cases.hadm_id = histories.hadm_id
        where histories.is_{{ part }}_missing
    ),
{% endfor %}
missing_age as (
    select
        hadm_id,
        'age_missing' as issue,
        true as in_first_only,
        true as in_extended
    from cases
    where has_demographics and age is null
),

missing_lab_name as (
    select
        hadm_id,
        'lab_name_missing' as issue,
        {{ dbt.bool_or('sequence_num = 1') }} as in_first_only,
        {{ dbt.bool_or('exclusion is null') }} as in_extended
    from lab_results
    where test_name is null
    group by hadm_id
),

missing_culture_test as (
    select
        hadm_id,
        'culture_test_id_missing' as issue,
        {{ dbt.bool_or('sequence_num = 1') }} as in_first_only,
        {{ dbt.bool_or('exclusion is null') }} as in_extended
    from microbiology_events
    where test_itemid is null
    group by hadm_id
),

final as (
    select * from missing_history
    union all
    select * from missing_past_history
    union all
    select * from missing_age
    union all
    select * from missing_lab_name
    union all
    select * from missing_culture_test
)

select * from final
