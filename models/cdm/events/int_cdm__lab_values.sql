with lab_events as (
    select * from {{ ref('int_cdm__lab_events') }}
),

d_labitems as (
    select * from {{ ref('stg_cdm__d_labitems') }}
),

of_known_items as (
    select lab_events.*
    from lab_events
    inner join d_labitems on lab_events.itemid = d_labitems.itemid
    where lab_events.hadm_id is not null
),

-- What is shown of a result: the first of number, text, flag and comment that is there; a masked
-- text counts as none.
shown as (
    select
        hadm_id,
        labevent_id,
        itemid,
        charttime,
        storetime,
        case
            when valuenum is not null then 'valuenum'
            when value <> '___' then 'value'
            when flag is not null then 'flag'
            when comments is not null then 'comments'
        end as value_origin,
        case
            when valuenum is not null then null
            when value <> '___' then value
            else coalesce(flag, comments)
        end as value_text
    from of_known_items
),

-- A flag or a comment may be masked as well: then there is no value.
final as (
    select * from shown
    where value_origin = 'valuenum' or value_text <> '___'
)

select * from final
