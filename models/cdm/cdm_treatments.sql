with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

procedures_icd as (
    select * from {{ ref('stg_cdm__procedures_icd') }}
),

d_icd_procedures as (
    select * from {{ ref('stg_cdm__d_icd_procedures') }}
),

discharge_procedures as (
    select * from {{ ref('int_cdm__discharge_procedures') }}
),

-- The same code may stand in both versions; one that the dictionary lacks, or names by nothing, has
-- no title and is left out.
coded as (
    select
        procedures_icd.hadm_id,
        {{ lower_case('d_icd_procedures.long_title') }} as title,
        procedures_icd.icd_code,
        procedures_icd.icd_version,
        true as is_coded,
        procedures_icd.seq_num,
        'coded' as extract_source
    from procedures_icd
    inner join d_icd_procedures
        on
            procedures_icd.icd_code = d_icd_procedures.icd_code
            and procedures_icd.icd_version = d_icd_procedures.icd_version
    where d_icd_procedures.long_title is not null
),

-- What was done before the admission is no treatment of it.
named as (
    select
        hadm_id,
        {{ lower_case('title') }} as title,
        cast(null as {{ dbt.type_string() }}) as icd_code,
        cast(null as integer) as icd_version,
        false as is_coded,
        seq_num,
        extract_source
    from discharge_procedures
    where not coalesce(is_previous, false)
),

treatments as (
    select * from coded
    union all
    select * from named
),

of_cohort as (
    select treatments.*
    from treatments
    inner join cohort on treatments.hadm_id = cohort.hadm_id
),

ordered as (
    select
        *,
        row_number() over (
            partition by hadm_id
            order by
                is_coded desc,
                seq_num asc nulls last,
                icd_version asc nulls last,
                {{ text_order('icd_code') }} asc nulls last,
                {{ text_order('title') }} asc nulls last
        ) as source_position
    from of_cohort
),

-- Of treatments of the same title the first stays.
first_of_title as (
    select
        *,
        row_number() over (partition by hadm_id, title order by source_position asc) as title_number
    from ordered
),

final as (
    select
        hadm_id,
        cast(
            row_number() over (partition by hadm_id order by source_position asc) as integer
        ) as position,
        title,
        icd_code,
        icd_version,
        is_coded,
        extract_source
    from first_of_title
    where title_number = 1
)

select * from final
