with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

admission_windows as (
    select * from {{ ref('int_cdm__admission_windows') }}
),

labevents as (
    select * from {{ ref('stg_cdm__labevents') }}
),

-- One pass over the largest table: what names a candidate, and what may be assigned to one.
final as (
    select
        labevent_id,
        subject_id,
        hadm_id,
        itemid,
        charttime,
        storetime,
        value,
        valuenum,
        valueuom,
        ref_range_lower,
        ref_range_upper,
        flag,
        comments
    from labevents
    where
        hadm_id in (select candidates.hadm_id from candidates)
        or (
            hadm_id is null
            and subject_id in (select admission_windows.subject_id from admission_windows)
        )
)

select * from final
