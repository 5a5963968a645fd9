with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

admission_windows as (
    select * from {{ ref('int_cdm__admission_windows') }}
),

microbiologyevents as (
    select * from {{ ref('stg_cdm__microbiologyevents') }}
),

-- One pass over the largest table: what names a candidate, and what may be assigned to one.
rows_of_candidates as (
    select * from microbiologyevents
    where
        {{ may_be_of_a_candidate() | indent(4) }}
),

-- A row without an admission that lies in the windows of two overlapping ones is given to both; one
-- that lies in none stays without, and is counted.
final as (
    select
        coalesce(rows_of_candidates.hadm_id, admission_windows.hadm_id) as hadm_id,
        rows_of_candidates.hadm_id is null as is_assigned,
        rows_of_candidates.microevent_id,
        rows_of_candidates.chartdate,
        rows_of_candidates.charttime,
        rows_of_candidates.storetime,
        rows_of_candidates.spec_type_desc,
        rows_of_candidates.test_itemid,
        rows_of_candidates.test_name,
        rows_of_candidates.org_name,
        rows_of_candidates.comments
    from rows_of_candidates
    left join admission_windows
        on
            {{ lies_in_window('rows_of_candidates') | indent(8) }}
            and rows_of_candidates.hadm_id is null
)

select * from final
