with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

admission_windows as (
    select * from {{ ref('int_cdm__admission_windows') }}
),

microbiologyevents as (
    select * from {{ ref('stg_cdm__microbiologyevents') }}
),

-- One pass over the table: what names a candidate, and what may be assigned to one.
final as (
    select
        microevent_id,
        subject_id,
        hadm_id,
        chartdate,
        charttime,
        storetime,
        spec_type_desc,
        test_itemid,
        test_name,
        org_name,
        comments
    from microbiologyevents
    where
        hadm_id in (select candidates.hadm_id from candidates)
        or (
            hadm_id is null
            and subject_id in (select admission_windows.subject_id from admission_windows)
        )
)

select * from final
