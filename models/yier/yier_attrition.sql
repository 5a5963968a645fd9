with rules as (
    select * from {{ ref('yier_attrition_rules') }}
),

questions as (
    select * from {{ ref('int_yier__questions') }}
),

record_errors as (
    select * from {{ ref('int_yier__record_errors') }}
),

-- Records without an error leave after the last step.
leaving as (
    select coalesce(record_errors.step_number, 999) as step_number
    from questions
    left join record_errors on questions.line_number = record_errors.line_number
),

steps as (
    select
        rules.step_number,
        rules.rule,
        rules.reason,
        count(leaving.step_number) filter (
            where leaving.step_number >= rules.step_number
        ) as rows_in,
        count(leaving.step_number) filter (
            where leaving.step_number = rules.step_number
        ) as rows_removed
    from rules
    cross join leaving
    group by
        rules.step_number,
        rules.rule,
        rules.reason
),

final as (
    select
        step_number,
        rule,
        cast(rows_in as bigint) as rows_in,
        cast(rows_removed as bigint) as rows_removed,
        cast(rows_in - rows_removed as bigint) as rows_out,
        reason
    from steps
)

select * from final
