{#- A text without the white space at its ends. -#}
{% macro trimmed(expression) -%}
    ltrim(rtrim({{ expression }}, {{ white_space() }}), {{ white_space() }})
{%- endmacro %}
