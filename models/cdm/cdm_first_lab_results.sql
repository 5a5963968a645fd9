with shown_events as (
    select * from {{ ref('int_cdm__shown_lab_results') }}
),

final as (
    select
        hadm_id,
        labevent_id,
        itemid,
        test_name,
        fluid,
        category,
        valuenum,
        value,
        value_text,
        value_origin,
        unit,
        flag,
        ref_range_lower,
        ref_range_upper,
        charttime,
        sequence_num
    from shown_events
    where sequence_num = 1
)

select * from final
