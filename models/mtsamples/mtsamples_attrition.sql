with rules as (
    select * from {{ ref('mtsamples_attrition_rules') }}
),

notes as (
    select * from {{ ref('int_mtsamples__notes') }}
),

left_out as (
    select * from {{ ref('int_mtsamples__left_out') }}
),

-- A note that gives an example leaves after the last step.
leaving as (
    select coalesce(left_out.step_number, 999) as step_number
    from notes
    left join left_out on notes.source_index = left_out.source_index
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
