{#- The end of a query whose columns are calculated once, however often they are used. PostgreSQL
    puts an expression in place of each use of a column, unless the query has an offset. -#}
{% macro calculated_once() -%}
    {{ return(adapter.dispatch('calculated_once', 'medeval')()) }}
{%- endmacro %}


{% macro default__calculated_once() -%}
{%- endmacro %}


{% macro postgres__calculated_once() -%}
    offset 0
{%- endmacro %}
