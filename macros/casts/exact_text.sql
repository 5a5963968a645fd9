{#- A text in the form in which two are compared: composed (NFC), without characters of no width,
    and without white space at its ends. -#}
{% macro exact_text(expression) -%}
    {{ trimmed(composed(without_zero_width(expression))) }}
{%- endmacro %}


{#- A text without zero width spaces, joiners, word joiners and byte order marks. -#}
{% macro without_zero_width(expression) -%}
    translate({{ expression }}, {{ text_of_code_points([8203, 8204, 8205, 8288, 65279]) }}, '')
{%- endmacro %}
