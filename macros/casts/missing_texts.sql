{#- The texts that mean a missing cell. In MIMIC-III they are those of the reference's CSV reader
    (pandas 1); `None` is not among them: for eye opening it is a score. Anywhere else only an empty
    cell is missing, and `NA` in a key, a number or a time cannot be read. -#}
{% macro missing_texts(source_table) -%}
    {%- if source_table.split('.')[0] == 'mimic3' -%}
    (
        '', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN',
        '<NA>', 'N/A', 'NA', 'NULL', 'NaN', 'n/a', 'nan', 'null'
    )
    {%- else -%}
    ('')
    {%- endif -%}
{%- endmacro %}
