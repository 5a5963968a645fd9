{#- Casts of raw cells in staging. A cell that cannot be read stops the build with
    `cannot read <source>.<table>.<column>: ...`; `explain_unreadable_cells` then finds its row. -#}

{% macro unreadable_cell(source_table, column, expected, type) -%}
    {{ stop_with(
        "concat('cannot read " ~ source_table ~ "." ~ column ~ ": ''', " ~ column
        ~ ", ''' is not " ~ expected ~ "')", type) }}
{%- endmacro %}


{% macro read_integer(source_table, column) -%}
    {%- set cell = 'cast(' ~ column ~ ' as ' ~ dbt.type_string() ~ ')' -%}
    case
        when {{ cell }} ~ '^ *[0-9]{1,9} *$' then cast({{ cell }} as integer)
        when {{ cell }} ~ '^ *[0-9]{1,9}[.]0* *$' then cast(split_part({{ cell }}, '.', 1) as integer)
        when {{ cell }} is null or {{ cell }} in {{ missing_texts() }} then null
        else {{ unreadable_cell(source_table, column, 'a whole number', 'integer') }}
    end
{%- endmacro %}


{% macro read_double(source_table, column) -%}
    {%- set cell = 'cast(' ~ column ~ ' as ' ~ dbt.type_string() ~ ')' -%}
    case
        when {{ is_number(cell) }} then {{ number_from_text(cell) }}
        when {{ cell }} is null or {{ cell }} in {{ missing_texts() }} then null
        else {{ unreadable_cell(source_table, column, 'a number', type_double()) }}
    end
{%- endmacro %}


{#- A date without a time is its midnight. -#}
{% macro read_timestamp(source_table, column) -%}
    {%- set cell = 'cast(' ~ column ~ ' as ' ~ dbt.type_string() ~ ')' -%}
    case
        when {{ cell }} ~ '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?)?$'
            then cast({{ cell }} as timestamp)
        when {{ cell }} is null or {{ cell }} in {{ missing_texts() }} then null
        else {{ unreadable_cell(source_table, column, 'a time like 2101-01-31 23:59:00', 'timestamp') }}
    end
{%- endmacro %}
