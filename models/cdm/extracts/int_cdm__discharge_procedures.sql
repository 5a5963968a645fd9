with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

provided as (
    select * from {{ ref('stg_cdm__procedures') }}
),

derived as (
    select * from {{ ref('int_cdm__derived_procedures') }}
),

-- An admission that a provided extract leaves out has none: what one person or model read is not
-- mixed with what the notes give.
final as (
    select
        provided.hadm_id,
        provided.seq_num,
        provided.title,
        provided.is_previous,
        'provided' as extract_source
    from provided
    inner join candidates on provided.hadm_id = candidates.hadm_id
    where
        -- A row without a title names nothing, as a blank line of a note.
        provided.title is not null
        and {{ counts_as_extract('provided', 'provided') }}
    union all
    select
        derived.hadm_id,
        derived.seq_num,
        derived.title,
        derived.is_previous,
        'derived' as extract_source
    from derived
    where {{ counts_as_extract('derived', 'provided') }}
)

select * from final
