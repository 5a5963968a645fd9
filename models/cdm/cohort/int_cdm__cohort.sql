with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

selection as (
    select * from {{ ref('int_cdm__selection') }}
),

selected as (
    select candidates.*
    from candidates
    inner join selection
        on
            candidates.hadm_id = selection.hadm_id
            and selection.exclusion is null
),

-- The order of the list; without one every list_position is missing, and the ids are in order.
final as (
    select
        hadm_id,
        cast(
            row_number() over (order by list_position asc nulls last, hadm_id asc) as integer
        ) as list_position,
        subject_id
    from selected
)

select * from final
