with lab_values as (
    select * from {{ ref('int_cdm__lab_values') }}
),

cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

first_procedures as (
    select * from {{ ref('int_cdm__first_procedures') }}
),

result_cap as (
    select * from {{ ref('int_cdm__result_cap') }}
),

without_rank as (
    select
        lab_values.*,
        case
            when lab_values.hadm_id is null then 'no_admission'
            when cohort.hadm_id is null then 'not_in_cohort'
            when not lab_values.has_known_item then 'no_item'
            when lab_values.value_origin is null then 'no_value'
        end as no_result,
        -- A procedure has a date and no time, so its whole day is out, and so is a result without a
        -- time.
        (
            first_procedures.first_procedure_date is null
            or coalesce(
                cast(lab_values.charttime as date) < first_procedures.first_procedure_date, false
            )
        ) as is_before_first_procedure
    from lab_values
    left join cohort on lab_values.hadm_id = cohort.hadm_id
    left join first_procedures on lab_values.hadm_id = first_procedures.hadm_id
),

-- What is no result takes no number.
numbered as (
    select
        *,
        case
            when no_result is null
                then row_number() over (
                    partition by hadm_id, itemid, no_result
                    order by charttime asc nulls last, storetime asc nulls last, labevent_id asc
                )
        end as sequence_num
    from without_rank
),

final as (
    select
        numbered.hadm_id,
        numbered.labevent_id,
        numbered.itemid,
        numbered.label,
        numbered.fluid,
        numbered.category,
        numbered.valuenum,
        numbered.value,
        numbered.value_text,
        numbered.value_origin,
        numbered.valueuom,
        numbered.flag,
        numbered.ref_range_lower,
        numbered.ref_range_upper,
        numbered.charttime,
        cast(numbered.sequence_num as integer) as sequence_num,
        case
            when numbered.no_result is not null then numbered.no_result
            when not numbered.is_before_first_procedure then 'not_before_first_procedure'
            when numbered.sequence_num > result_cap.results_per_test then 'beyond_the_third'
        end as exclusion
    from numbered
    cross join result_cap
)

select * from final
