with shown_events as (
    select * from {{ ref('int_cdm__shown_microbiology_events') }}
),

final as (
    select
        hadm_id,
        test_itemid,
        test_name,
        spec_type_desc,
        organism_name,
        comments,
        charttime,
        event_date,
        sequence_num
    from shown_events
    where exclusion is null
)

select * from final
