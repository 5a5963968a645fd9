{#- The texts that the reference's CSV reader (pandas 1) takes for a missing cell, and the empty cell.
    `None` is not among them: for eye opening it is a score. -#}
{% macro missing_texts() -%}
    (
        '', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN',
        '<NA>', 'N/A', 'NA', 'NULL', 'NaN', 'n/a', 'nan', 'null'
    )
{%- endmacro %}


{#- A raw cell as text, null where it is missing. Sources may be text or typed; all are read as text. -#}
{% macro read_text(column) -%}
    case
        when cast({{ column }} as {{ dbt.type_string() }}) not in {{ missing_texts() }}
            then cast({{ column }} as {{ dbt.type_string() }})
    end
{%- endmacro %}


{#- A raw cell as text where only an empty cell is missing: in MIMIC-IV `NA` is what was charted. -#}
{% macro read_cell(column) -%}
    nullif({{ raw_text(column) }}, '')
{%- endmacro %}
