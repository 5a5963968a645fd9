{#- A text whose letters and marks are composed, Unicode's form NFC. -#}
{% macro composed(expression) -%}
    {{ return(adapter.dispatch('composed', 'medeval')(expression)) }}
{%- endmacro %}


{% macro default__composed(expression) -%}
    nfc_normalize({{ expression }})
{%- endmacro %}


{% macro postgres__composed(expression) -%}
    normalize({{ expression }}, nfc)
{%- endmacro %}
