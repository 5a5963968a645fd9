{#- Casts of raw cells in staging. A cell that cannot be read stops the build with
    `cannot read <source>.<table>.<column> ...`; `explain_unreadable_cells` then finds its row with
    the same `is_...` macro. The pattern decides and the cast follows, since the engines' casts
    differ in what else they take. -#}

{% macro raw_text(column) -%}
    cast({{ column }} as {{ dbt.type_string() }})
{%- endmacro %}


{#- The message shows nothing of the cell. It depends on the cell, since an engine may evaluate a
    constant before there is a row. -#}
{% macro unreadable_cell(source_table, column, expected, type) -%}
    {{ stop_with(
        "concat('cannot read " ~ source_table ~ "." ~ column ~ " as " ~ expected ~ "', left("
        ~ raw_text(column) ~ ", 0))", type) }}
{%- endmacro %}


{#- Digits, as a database of floating-point ids also writes them: `200001.0`. -#}
{% macro is_whole_number(cell) -%}
    {{ cell }} ~ '^ *[0-9]{1,9}([.]0*)? *$'
{%- endmacro %}


{#- A day of the calendar, alone or with a time of at most microseconds, and no time zone. -#}
{% macro is_time(cell) -%}
    {%- set months_of_31 = '(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])' -%}
    {%- set months_of_30 = '(0[469]|11)-(0[1-9]|[12][0-9]|30)' -%}
    {%- set february = '02-(0[1-9]|1[0-9]|2[0-8])' -%}
    {%- set months = [months_of_31, months_of_30, february] | join('|') -%}
    {%- set any_year = '[1-9][0-9]{3}-(' ~ months ~ ')' -%}
    {%- set leap_years = [
        '[1-9][0-9](0[48]|[2468][048]|[13579][26])', '([2468][048]|[13579][26])00'
    ] -%}
    {%- set leap_day = '(' ~ leap_years | join('|') ~ ')-02-29' -%}
    {%- set clock = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6}0*)?)?' -%}
    {{ cell }} ~ '^({{ any_year }}|{{ leap_day }})([ T]{{ clock }})?$'
{%- endmacro %}


{% macro read_integer(source_table, column) -%}
    {%- set cell = raw_text(column) -%}
    case
        when {{ cell }} ~ '^ *[0-9]{1,9} *$' then cast({{ cell }} as integer)
        when {{ is_whole_number(cell) }} then cast(split_part({{ cell }}, '.', 1) as integer)
        when {{ cell }} is null or {{ cell }} in {{ missing_texts() }} then null
        else {{ unreadable_cell(source_table, column, 'a whole number', 'integer') }}
    end
{%- endmacro %}


{% macro read_double(source_table, column) -%}
    {%- set cell = raw_text(column) -%}
    case
        when {{ is_number(cell) }} then {{ number_from_text(cell) }}
        when {{ cell }} is null or {{ cell }} in {{ missing_texts() }} then null
        else {{ unreadable_cell(source_table, column, 'a number', type_double()) }}
    end
{%- endmacro %}


{#- Most times are of this form and on a day that every month has. On PostgreSQL the pattern of all
    times takes twice as long. -#}
{% macro is_usual_time(cell) -%}
    {%- set day = '[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])' -%}
    {{ cell }} ~ '^{{ day }} ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$'
{%- endmacro %}


{#- A date without a time is its midnight. -#}
{% macro read_timestamp(source_table, column) -%}
    {%- set cell = raw_text(column) -%}
    {%- set expected = 'a time like 2101-01-31 23:59:00' -%}
    case
        when {{ is_usual_time(cell) }} then cast({{ cell }} as timestamp)
        when {{ is_time(cell) }} then cast({{ cell }} as timestamp)
        when {{ cell }} is null or {{ cell }} in {{ missing_texts() }} then null
        else {{ unreadable_cell(source_table, column, expected, 'timestamp') }}
    end
{%- endmacro %}


{#- A code without the blanks that a padded `char(7)` column has. -#}
{% macro read_code(column) -%}
    nullif(trim({{ raw_text(column) }}), '')
{%- endmacro %}


{% macro is_truth_value(cell) -%}
    lower(trim({{ cell }})) in ('t', 'true', '1', 'f', 'false', '0')
{%- endmacro %}


{% macro read_boolean(source_table, column) -%}
    {%- set cell = raw_text(column) -%}
    case
        when lower(trim({{ cell }})) in ('t', 'true', '1') then true
        when lower(trim({{ cell }})) in ('f', 'false', '0') then false
        when {{ cell }} is null or {{ cell }} in {{ missing_texts() }} then null
        else {{ unreadable_cell(source_table, column, 'true or false', 'boolean') }}
    end
{%- endmacro %}
