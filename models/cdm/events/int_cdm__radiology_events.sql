with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

admission_windows as (
    select * from {{ ref('int_cdm__admission_windows') }}
),

radiology as (
    select * from {{ ref('stg_cdm__radiology') }}
),

-- One pass over the notes: what names a candidate, and what may be assigned to one.
final as (
    select
        note_id,
        subject_id,
        hadm_id,
        note_type,
        charttime,
        text
    from radiology
    where
        hadm_id in (select candidates.hadm_id from candidates)
        or (
            hadm_id is null
            and subject_id in (select admission_windows.subject_id from admission_windows)
        )
)

select * from final
