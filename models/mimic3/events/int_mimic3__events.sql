{{ config(materialized='view') }}

with final as (
    {% for table in ['chartevents', 'labevents', 'outputevents'] %}
        select
            '{{ table }}' as source_table,
            subject_id,
            hadm_id,
            icustay_id,
            itemid,
            charttime,
            value,
            valueuom
        from {{ ref('stg_mimic3__' ~ table) }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select * from final
