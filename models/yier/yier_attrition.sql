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
    {{ attrition_steps('rules', 'leaving') }}
)

select * from final
