with rules as (
    select * from {{ ref('cdm_attrition_rules') }}
),

attrition_counts as (
    select * from {{ ref('int_cdm__attrition_counts') }}
),

-- What is left after a step, and what was left after the one before.
steps as (
    select
        stage,
        step_number,
        lag(row_count) over (partition by stage order by step_number asc) as rows_in,
        row_count as rows_out
    from attrition_counts
),

final as (
    select
        rules.stage,
        rules.unit,
        rules.step_number,
        rules.rule,
        steps.rows_in,
        steps.rows_in - steps.rows_out as rows_removed,
        steps.rows_out,
        rules.reason
    from steps
    inner join rules
        on
            steps.stage = rules.stage
            and steps.step_number = rules.step_number
)

select * from final
