{#- Seconds from one timestamp to another as a double. The cast comes first: `extract` is numeric on
    PostgreSQL, and a quotient of it differs in the last bit. -#}
{% macro seconds_between(earlier, later) -%}
    {{ return(adapter.dispatch('seconds_between', 'medeval')(earlier, later)) }}
{%- endmacro %}


{% macro default__seconds_between(earlier, later) -%}
    (
        cast(extract(epoch from {{ later }}) as {{ type_double() }})
        - cast(extract(epoch from {{ earlier }}) as {{ type_double() }})
    )
{%- endmacro %}


{#- Hours as the benchmark divides them: by 60 and by 60. A division by 3600 differs in the last bit
    of a quarter of the values. -#}
{% macro hours_between(earlier, later) -%}
    {{ seconds_between(earlier, later) }} / 60 / 60
{%- endmacro %}


{#- Microseconds, which a double holds exactly for any time of the calendar. -#}
{% macro spark__seconds_between(earlier, later) -%}
    (
        cast(unix_micros(cast({{ later }} as timestamp_ltz)) as double) / 1e6
        - cast(unix_micros(cast({{ earlier }} as timestamp_ltz)) as double) / 1e6
    )
{%- endmacro %}
