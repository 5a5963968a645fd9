{#- Whether a CTE is calculated once for all that read it, or within each of them. -#}
{% macro materialized(is_wanted=true) -%}
    {{ return(adapter.dispatch('materialized', 'medeval')(is_wanted)) }}
{%- endmacro %}


{% macro default__materialized(is_wanted) -%}
    {{ 'materialized' if is_wanted else 'not materialized' }}
{%- endmacro %}


{#- Spark has no words for it: it finds the parts of a plan that are the same. -#}
{% macro spark__materialized(is_wanted) -%}
{%- endmacro %}
