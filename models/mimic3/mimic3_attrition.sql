with rules as (
    select * from {{ ref('attrition_rules') }}
),

cohort_attrition as (
    select * from {{ ref('int_mimic3__cohort_attrition') }}
),

removals as (
    select * from {{ ref('int_mimic3__removals') }}
),

cohort_steps as (
    select
        rules.stage,
        cohort_attrition.unit,
        rules.step_number,
        rules.rule,
        cohort_attrition.rows_in,
        cohort_attrition.rows_out,
        rules.reason
    from cohort_attrition
    inner join rules
        on
            rules.stage = 'cohort'
            and cohort_attrition.step_number = rules.step_number
),

-- Rows that no rule removes come after the last step.
removal_steps as (
    select
        removals.stage,
        removals.unit,
        removals.row_count,
        coalesce(rules.step_number, 999) as removed_at_step
    from removals
    left join rules
        on
            removals.stage = rules.stage
            and removals.rule = rules.rule
),

other_steps as (
    select
        rules.stage,
        removal_steps.unit,
        rules.step_number,
        rules.rule,
        sum(removal_steps.row_count) filter (
            where removal_steps.removed_at_step >= rules.step_number
        ) as rows_in,
        coalesce(
            sum(removal_steps.row_count) filter (
                where removal_steps.removed_at_step > rules.step_number
            ),
            0
        ) as rows_out,
        rules.reason
    from rules
    inner join removal_steps on rules.stage = removal_steps.stage
    group by
        rules.stage,
        removal_steps.unit,
        rules.step_number,
        rules.rule,
        rules.reason
),

steps as (
    select * from cohort_steps
    union all
    select * from other_steps
),

final as (
    select
        stage,
        unit,
        step_number,
        rule,
        cast(coalesce(rows_in, 0) as bigint) as rows_in,
        cast(coalesce(rows_in, 0) - rows_out as bigint) as rows_removed,
        cast(rows_out as bigint) as rows_out,
        reason
    from steps
)

select * from final
