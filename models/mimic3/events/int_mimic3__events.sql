{{ config(materialized='view') }}
{%- set tables = ['chartevents', 'labevents', 'outputevents'] -%}

with final as (
    {% for table in tables %}
        select
            {{ one_of("'" ~ table ~ "'", tables) }} as source_table,
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
