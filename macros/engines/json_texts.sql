{#- A lateral relation of the texts of a JSON array and their places, 1, 2, ...; no row where the
    key is missing or null. `record` is a JSON object as text. -#}
{% macro json_texts(record, key, alias, text_column, place_column) -%}
    {{ return(adapter.dispatch('json_texts', 'medeval')(
        record, key, alias, text_column, place_column
    )) }}
{%- endmacro %}


{% macro default__json_texts(record, key, alias, text_column, place_column) -%}
    lateral unnest(from_json(cast({{ record }} as json) -> '{{ key }}', '["VARCHAR"]'))
        with ordinality as {{ alias }} ({{ text_column }}, {{ place_column }})
{%- endmacro %}


{% macro postgres__json_texts(record, key, alias, text_column, place_column) -%}
    lateral json_array_elements_text(
        case
            when json_typeof(cast({{ record }} as json) -> '{{ key }}') = 'array'
                then cast({{ record }} as json) -> '{{ key }}'
        end
    ) with ordinality as {{ alias }} ({{ text_column }}, {{ place_column }})
{%- endmacro %}


{% macro spark__json_texts(record, key, alias, text_column, place_column) -%}
    lateral (
        select inline(transform(
            from_json(get_json_object({{ record }}, '$.{{ key }}'), 'array<string>'),
            (item, place) -> struct(item, place + 1)
        )) as ({{ text_column }}, {{ place_column }})
    ) as {{ alias }}
{%- endmacro %}
