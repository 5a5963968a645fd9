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
rows_of_candidates as (
    select * from labevents
    where
        hadm_id in (select candidates.hadm_id from candidates)
        or (
            hadm_id is null
            and subject_id in (select admission_windows.subject_id from admission_windows)
        )
),

-- A row without an admission that lies in the windows of two overlapping ones is given to both; one
-- that lies in none stays without, and is counted.
final as (
    select
        coalesce(rows_of_candidates.hadm_id, admission_windows.hadm_id) as hadm_id,
        rows_of_candidates.hadm_id is null as is_assigned,
        rows_of_candidates.labevent_id,
        rows_of_candidates.itemid,
        rows_of_candidates.charttime,
        rows_of_candidates.storetime,
        rows_of_candidates.value,
        rows_of_candidates.valuenum,
        rows_of_candidates.valueuom,
        rows_of_candidates.ref_range_lower,
        rows_of_candidates.ref_range_upper,
        rows_of_candidates.flag,
        rows_of_candidates.comments
    from rows_of_candidates
    left join admission_windows
        on
            rows_of_candidates.subject_id = admission_windows.subject_id
            and rows_of_candidates.charttime >= admission_windows.window_start
            and rows_of_candidates.charttime <= admission_windows.window_end
            and rows_of_candidates.hadm_id is null
)

select * from final
