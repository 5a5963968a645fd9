{#- The name of the IEEE 754 binary64 type. -#}
{% macro type_double() -%}
    {{ return(adapter.dispatch('type_double', 'medeval')()) }}
{%- endmacro %}


{% macro default__type_double() -%}
    double precision
{%- endmacro %}


{% macro spark__type_double() -%}
    double
{%- endmacro %}
