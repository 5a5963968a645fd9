{%- set variables = mimic3_variables() -%}
{%- set charted_variables = variables | selectattr('as_charted') | list -%}

with event_values as (
    select * from {{ ref('int_mimic3__event_values') }}
),

charted_texts as (
    select * from {{ ref('int_mimic3__charted_texts') }}
),

-- One value for each time and variable of a subject, over all its stays: the greatest, numbers by
-- size and texts in byte order.
greatest as (
    select
        event_values.subject_id,
        event_values.charttime,
        {% for variable in variables %}
            max(event_values.cleaned_number) filter (
                where event_values.variable_id = {{ variable.variable_id }}
            ) as {{ variable.column }},
        {% endfor %}
        {% for variable in charted_variables %}
            max(charted_texts.text_rank) filter (
                where event_values.variable_id = {{ variable.variable_id }}
            ) as {{ variable.column }}_rank{% if not loop.last %},{% endif %}
        {% endfor %}
    from event_values
    left join charted_texts on event_values.charted_text = charted_texts.charted_text
    group by
        event_values.subject_id,
        event_values.charttime
),

-- Beside a text stands the number that it reads as, not the greatest of the numbers (`9` beats
-- `120` as a text).
final as (
    select
        greatest.subject_id,
        greatest.charttime,
        {% for variable in variables if not variable.as_charted %}
            greatest.{{ variable.column }},
        {% endfor %}
        {% for variable in charted_variables %}
            {{ variable.column }}_texts.charted_text as {{ variable.column }}_text,
            case
                when greatest.{{ variable.column }}_rank is null then greatest.{{ variable.column }}
                else {{ variable.column }}_texts.charted_number
            end as {{ variable.column }}{% if not loop.last %},{% endif %}
        {% endfor %}
    from greatest
    {% for variable in charted_variables %}
        left join charted_texts as {{ variable.column }}_texts
            on greatest.{{ variable.column }}_rank = {{ variable.column }}_texts.text_rank
    {% endfor %}
)

select * from final
