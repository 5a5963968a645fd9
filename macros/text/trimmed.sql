{#- A text without the white space at its ends. -#}
{% macro trimmed(expression) -%}
    trim(both {{ white_space() }} from {{ expression }})
{%- endmacro %}
