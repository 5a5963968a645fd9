{{ config(materialized='view') }}

with chartevents as (
    select
        'chartevents' as source_table,
        subject_id,
        hadm_id,
        icustay_id,
        itemid,
        charttime,
        value,
        valueuom
    from {{ ref('stg_mimic3__chartevents') }}
),

labevents as (
    select
        'labevents' as source_table,
        subject_id,
        hadm_id,
        icustay_id,
        itemid,
        charttime,
        value,
        valueuom
    from {{ ref('stg_mimic3__labevents') }}
),

outputevents as (
    select
        'outputevents' as source_table,
        subject_id,
        hadm_id,
        icustay_id,
        itemid,
        charttime,
        value,
        valueuom
    from {{ ref('stg_mimic3__outputevents') }}
),

final as (
    select * from chartevents
    union all
    select * from labevents
    union all
    select * from outputevents
)

select * from final
