with shown_events as (
    select * from {{ ref('int_cdm__shown_radiology_reports') }}
),

final as (
    select
        hadm_id,
        note_id,
        exam_name,
        modality,
        region,
        text,
        charttime,
        sequence_num
    from shown_events
    where sequence_num = 1
)

select * from final
