with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

procedures_icd as (
    select * from {{ ref('stg_cdm__procedures_icd') }}
),

-- Any coded procedure, not only the treatment of the pathology; its number in the sequence says
-- nothing about its date.
final as (
    select
        procedures_icd.hadm_id,
        min(procedures_icd.chartdate) as first_procedure_date
    from procedures_icd
    inner join candidates on procedures_icd.hadm_id = candidates.hadm_id
    where procedures_icd.chartdate is not null
    group by procedures_icd.hadm_id
)

select * from final
