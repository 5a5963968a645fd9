{#- A cell of MIMIC-III as text, null where it is missing. -#}
{% macro read_text(column) -%}
    case
        when {{ raw_text(column) }} not in {{ missing_texts('mimic3') }} then {{ raw_text(column) }}
    end
{%- endmacro %}


{#- A cell as text where only an empty cell is missing: in MIMIC-IV `NA` is what was charted. -#}
{% macro read_cell(column) -%}
    nullif({{ raw_text(column) }}, '')
{%- endmacro %}


{#- A code without the blanks that a padded `char(7)` column has. -#}
{% macro read_code(column) -%}
    nullif(trim({{ raw_text(column) }}), '')
{%- endmacro %}
