{#- Byte order for a sort or a maximum of texts, whatever collation the database has. -#}
{% macro text_order(expression) -%}
    {{ return(adapter.dispatch('text_order', 'medeval')(expression)) }}
{%- endmacro %}


{% macro default__text_order(expression) -%}
    {{ expression }} collate "C"
{%- endmacro %}


{#- Spark's own order is that of bytes. -#}
{% macro spark__text_order(expression) -%}
    {{ expression }}
{%- endmacro %}
