{#- A lateral relation of the whole hours 0, 1, ... below `stop` (a double expression over relations
    to the left of it); no row where `stop` is missing or not above 0. -#}
{% macro whole_hours(stop, alias, column) -%}
    {{ return(adapter.dispatch('whole_hours', 'medeval')(stop, alias, column)) }}
{%- endmacro %}


{% macro default__whole_hours(stop, alias, column) -%}
    lateral generate_series(0, cast(ceil({{ stop }}) as bigint) - 1) as {{ alias }} ({{ column }})
{%- endmacro %}
