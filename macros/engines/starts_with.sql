{#- Whether a text begins with another. -#}
{% macro starts_with(text, beginning) -%}
    {{ return(adapter.dispatch('starts_with', 'medeval')(text, beginning)) }}
{%- endmacro %}


{% macro default__starts_with(text, beginning) -%}
    starts_with({{ text }}, {{ beginning }})
{%- endmacro %}


{% macro spark__starts_with(text, beginning) -%}
    startswith({{ text }}, {{ beginning }})
{%- endmacro %}
