with rules as (
    select * from {{ ref('mtsamples_attrition_rules') }}
),

notes as (
    select * from {{ ref('int_mtsamples__notes') }}
),

left_out as (
    select * from {{ ref('int_mtsamples__left_out') }}
),

-- A note that gives an example leaves at no step.
leaving as (
    select left_out.step_number
    from notes
    left join left_out on notes.source_index = left_out.source_index
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
