{#- The value that an object holds under a key, as a text; missing where it is null or there is no
    such key. `record` is a JSON object as text. -#}
{% macro json_text(record, key) -%}
    {{ return(adapter.dispatch('json_text', 'medeval')(record, key)) }}
{%- endmacro %}


{% macro default__json_text(record, key) -%}
    (cast({{ record }} as json) ->> '{{ key }}')
{%- endmacro %}


{% macro spark__json_text(record, key) -%}
    get_json_object({{ record }}, '$.{{ key }}')
{%- endmacro %}
