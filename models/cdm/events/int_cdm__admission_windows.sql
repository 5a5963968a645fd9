with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

transfers as (
    select * from {{ ref('stg_cdm__transfers') }}
),

-- From one day before the first transfer to the last one, which is the discharge; both ends count.
final as (
    select
        transfers.subject_id,
        transfers.hadm_id,
        min(transfers.intime) - interval '1 day' as window_start,
        max(transfers.intime) as window_end
    from transfers
    inner join candidates on transfers.hadm_id = candidates.hadm_id
    group by
        transfers.subject_id,
        transfers.hadm_id
)

select * from final
