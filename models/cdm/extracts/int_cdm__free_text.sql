with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

provided as (
    select * from {{ ref('stg_cdm__discharge_free_text') }}
),

derived as (
    select * from {{ ref('int_cdm__derived_free_text') }}
),

-- An admission that a provided extract leaves out has none: what one person or model read is not
-- mixed with what the notes give.
final as (
    select
        provided.hadm_id,
        provided.history_of_present_illness,
        provided.past_medical_history,
        provided.physical_examination,
        'provided' as extract_source
    from provided
    inner join candidates on provided.hadm_id = candidates.hadm_id
    where {{ counts_as_extract('provided', 'provided') }}
    union all
    select
        derived.hadm_id,
        derived.history_of_present_illness,
        derived.past_medical_history,
        derived.physical_examination,
        'derived' as extract_source
    from derived
    where {{ counts_as_extract('derived', 'provided') }}
)

select * from final
