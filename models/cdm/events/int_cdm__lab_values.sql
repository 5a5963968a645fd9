with lab_events as (
    select * from {{ ref('int_cdm__lab_events') }}
),

event_admissions as (
    select * from {{ ref('int_cdm__event_admissions') }}
    where source_table = 'labevents'
),

d_labitems as (
    select * from {{ ref('stg_cdm__d_labitems') }}
),

-- What is shown of a result: the first of number, text, flag and comment that is there; a masked
-- text counts as none.
shown as (
    select
        *,
        case
            when valuenum is not null then 'valuenum'
            when value <> '___' then 'value'
            when flag is not null then 'flag'
            when comments is not null then 'comments'
        end as first_origin,
        case
            when valuenum is not null then null
            when value <> '___' then value
            else coalesce(flag, comments)
        end as first_text
    from lab_events
),

-- A flag or a comment may be masked as well: then there is no value. What else the row says stays
-- in the events: few of the numbered results are shown.
valued as (
    select
        coalesce(shown.hadm_id, event_admissions.hadm_id) as hadm_id,
        shown.labevent_id,
        shown.itemid,
        d_labitems.itemid is not null as has_known_item,
        case
            when shown.first_origin = 'valuenum' or shown.first_text <> '___'
                then shown.first_origin
        end as value_origin,
        case when shown.first_text <> '___' then shown.first_text end as value_text,
        shown.charttime,
        shown.storetime
    from shown
    left join d_labitems on shown.itemid = d_labitems.itemid
    left join event_admissions
        on
            cast(shown.labevent_id as {{ dbt.type_string() }}) = event_admissions.event_id
            and shown.hadm_id is null
),

with_result as (
    select
        *,
        hadm_id is not null and has_known_item and value_origin is not null as is_result
    from valued
),

-- What is no result takes no number.
final as (
    select
        *,
        case
            when is_result
                then cast(
                    row_number() over (
                        partition by hadm_id, itemid, is_result
                        order by charttime asc nulls last, storetime asc nulls last, labevent_id asc
                    ) as integer
                )
        end as sequence_num
    from with_result
)

select * from final
