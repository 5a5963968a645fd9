with culture_rows as (
    select * from {{ ref('int_cdm__culture_rows') }}
),

with_finding as (
    select
        *,
        {% if var('cdm_rules') == 'reference' %}
            cast(charttime as date) as event_date
        {% else %}
            -- A culture of which only the day is known counts as of the end of that day.
            cast(coalesce(charttime, chartdate) as date) as event_date
        {% endif %}
    from culture_rows
    where exclusion is null
),

-- One row per isolate and antibiotic becomes one per culture.
final as (
    select
        hadm_id,
        test_itemid,
        test_name,
        spec_type_desc,
        charttime,
        event_date,
        min(storetime) as storetime,
        {{ joined_different_texts('org_name', "', '") }} as organism_name,
        {{ joined_different_texts('comments', "', '") }} as comments
    from with_finding
    group by
        hadm_id,
        test_itemid,
        test_name,
        spec_type_desc,
        charttime,
        event_date
)

select * from final
