with lab_values as (
    select * from {{ ref('int_cdm__lab_values') }}
),

first_procedures as (
    select * from {{ ref('int_cdm__first_procedures') }}
),

-- Rows without a value are gone before, so they take no rank.
numbered as (
    select
        hadm_id,
        labevent_id,
        charttime,
        value_origin,
        value_text,
        row_number() over (
            partition by hadm_id, itemid
            order by charttime asc nulls last, storetime asc nulls last, labevent_id asc
        ) as sequence_num
    from lab_values
),

-- A procedure has a date and no time, so its whole day is out, and so is a result without a time.
final as (
    select
        numbered.hadm_id,
        numbered.labevent_id,
        numbered.value_origin,
        numbered.value_text,
        cast(numbered.sequence_num as integer) as sequence_num,
        numbered.sequence_num = 1 as is_first_result,
        (
            first_procedures.first_procedure_date is null
            or coalesce(
                cast(numbered.charttime as date) < first_procedures.first_procedure_date, false
            )
        ) as is_before_first_procedure
    from numbered
    left join first_procedures on numbered.hadm_id = first_procedures.hadm_id
)

select * from final
