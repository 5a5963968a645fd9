{#- What each step of a list of rules takes away: the columns of an attrition table.

    `rules` has a row a step: step_number, rule and reason. `leaving` has a row for everything that there
    was, with the step_number at which it left; missing where it stayed. -#}
{% macro attrition_steps(rules, leaving) -%}
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
    from {{ rules }} as rules
    cross join {{ leaving }} as leaving
    group by
        rules.step_number,
        rules.rule,
        rules.reason
{%- endmacro %}
