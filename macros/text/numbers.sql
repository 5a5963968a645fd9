{#- Does a text read as a number? Blanks at the ends, a sign, digits with an optional point, an
    exponent of at most two digits, or infinity. The engines' own tests disagree (PostgreSQL takes
    `0x10`, DuckDB takes `1_000`), so the pattern decides and the cast follows. -#}
{% macro is_number(expression) -%}
    (
        {{ expression }}
        ~ '^ *[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9][0-9]?)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?) *$'
    )
{%- endmacro %}


{#- A text that `is_number` accepts, as a double. -#}
{% macro number_from_text(expression) -%}
    cast(trim({{ expression }}) as {{ type_double() }})
{%- endmacro %}
