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
    {{ matches(cell, "'^(" ~ any_year ~ '|' ~ leap_day ~ ')([ T]' ~ clock ~ ")?$'") }}
{%- endmacro %}


{#- Most times are of this form and on a day that every month has. On PostgreSQL the pattern of all
    times takes twice as long. -#}
{% macro is_usual_time(cell) -%}
    {%- set day = '[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])' -%}
    {{ matches(cell, "'^" ~ day ~ " ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$'") }}
{%- endmacro %}


{#- A date without a time is its midnight. A column with a time zone is no time: it would be another
    one in each session. -#}
{% macro read_timestamp(source_table, column) -%}
    {%- set cell = raw_text(column) -%}
    {%- set types = ['timestamp', 'date'] -%}
    {%- set time = 'cast(' ~ typed_column(column, types) ~ ' as timestamp)' -%}
    {%- set last_branches = else_missing_or_unreadable(
        source_table, column, 'a time like 2101-01-31 23:59:00', 'timestamp'
    ) -%}
    {%- set least = "cast('1000-01-01' as timestamp)" -%}
    {%- set most = "cast('9999-12-31 23:59:59.999999' as timestamp)" -%}
    {%- set typed -%}
    case
        when {{ time }} between {{ least }} and {{ most }} then {{ time }}
        {{ last_branches }}
    end
    {%- endset -%}
    {%- set from_text -%}
    case
        {{ when_usual(cell, 'timestamp', least, most, is_usual_time(cell)) }}
        when {{ is_time(cell) }} then cast({{ cell }} as timestamp)
        {{ last_branches }}
    end
    {%- endset -%}
    {{ typed_or_text(column, types, typed, from_text) }}
{%- endmacro %}
