{#- A text of a laboratory, a culture or an examination's name. The specification scrubs whatever is
    shown of a case; the reference scrubs notes only. -#}
{% macro scrubbed_result(expression, patterns) -%}
    {%- if cdm_rules() == 'reference' -%}
        {{ expression }}
    {%- else -%}
        {{ scrubbed(expression, patterns) }}
    {%- endif -%}
{%- endmacro %}
