with rules as (
    select * from {{ ref('yier_attrition_rules') }}
),

questions as (
    select * from {{ ref('int_yier__questions') }}
),

record_errors as (
    select * from {{ ref('int_yier__record_errors') }}
),

-- A record without an error leaves at no step.
leaving as (
    select record_errors.step_number
    from questions
    left join record_errors on questions.line_number = record_errors.line_number
),

final as (
    select
        rules.step_number,
        rules.rule,
        count(*) filter (
            where leaving.step_number is null or leaving.step_number >= rules.step_number
        ) as rows_in,
        count(*) filter (where leaving.step_number = rules.step_number) as rows_removed,
        count(*) filter (
            where leaving.step_number is null or leaving.step_number > rules.step_number
        ) as rows_out,
        rules.reason
    from rules
    cross join leaving
    group by
        rules.step_number,
        rules.rule,
        rules.reason
)

select * from final
