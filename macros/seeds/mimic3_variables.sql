{#- The 17 variables of the benchmark in their order in the time series files. Each has its
    `variable_id`, its `name` there, its `column` in the models, and whether it is `as_charted`:
    never cleaned, so that a value is also a text. -#}
{% macro mimic3_variables() %}
    {% set as_charted = [] %}
    {% for row in seed_rows('item_variables', ['variable', 'cleaning_rule'], 'itemid')
        if row.cleaning_rule == 'none' %}
        {% do as_charted.append(row.variable) %}
    {% endfor %}
    {% set variables = [] %}
    {% for row in seed_rows('variable_ranges', ['variable_id', 'variable'], 'variable_id') %}
        {% do variables.append({
            'variable_id': row.variable_id,
            'name': row.variable,
            'column': row.variable | lower | replace(' ', '_'),
            'as_charted': row.variable in as_charted,
        }) %}
    {% endfor %}
    {{ return(variables) }}
{% endmacro %}


{#- The columns of `int_mimic3__measurements` after its key: 17 numbers, then 7 texts. -#}
{% macro measurement_columns(relation) -%}
    {%- set variables = mimic3_variables() -%}
    {%- for variable in variables -%}
        {{ relation }}.{{ variable.column }},
        {% endfor -%}
    {%- for variable in variables if variable.as_charted -%}
        {{ relation }}.{{ variable.column }}_text
        {%- if not loop.last %},
        {% endif -%}
    {%- endfor -%}
{%- endmacro %}
