with rules as (
    select * from {{ ref('cdm_attrition_rules') }}
),

attrition_counts as (
    select * from {{ ref('int_cdm__attrition_counts') }}
),

stages as (
    select
        stage,
        sum(row_count) as row_count
    from attrition_counts
    group by stage
),

-- A rule that takes nothing away is named as well.
steps as (
    select
        rules.*,
        coalesce(stages.row_count, 0) as rows_at_first,
        coalesce(attrition_counts.row_count, 0) as rows_removed,
        sum(coalesce(attrition_counts.row_count, 0)) over (
            partition by rules.stage order by rules.step_number asc
        ) as rows_removed_so_far
    from rules
    left join stages on rules.stage = stages.stage
    left join attrition_counts
        on
            rules.stage = attrition_counts.stage
            and rules.rule = attrition_counts.exclusion
),

final as (
    select
        stage,
        unit,
        step_number,
        rule,
        cast(rows_at_first - rows_removed_so_far + rows_removed as bigint) as rows_in,
        cast(rows_removed as bigint) as rows_removed,
        cast(rows_at_first - rows_removed_so_far as bigint) as rows_out,
        reason
    from steps
)

select * from final
