with lab_values as (
    select * from {{ ref('int_cdm__lab_values') }}
),

d_labitems as (
    select * from {{ ref('stg_cdm__d_labitems') }}
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

with_reasons as (
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

final as (
    select
        with_reasons.hadm_id,
        with_reasons.labevent_id,
        with_reasons.itemid,
        d_labitems.label,
        d_labitems.fluid,
        d_labitems.category,
        with_reasons.value_text,
        with_reasons.value_origin,
        with_reasons.charttime,
        case when with_reasons.no_result is null then with_reasons.sequence_num end as sequence_num,
        case
            when with_reasons.no_result is not null then with_reasons.no_result
            when not with_reasons.is_before_first_procedure then 'not_before_first_procedure'
            when with_reasons.sequence_num > result_cap.results_per_test then 'beyond_the_third'
        end as exclusion
    from with_reasons
    cross join result_cap
    left join d_labitems on with_reasons.itemid = d_labitems.itemid
)

select * from final
