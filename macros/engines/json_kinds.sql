{#- What kind of value an object holds under a key: string, number, boolean, object, array or null;
    missing where it has no such key. -#}
{% macro json_kind(record, key) -%}
    {{ return(adapter.dispatch('json_kind', 'medeval')(record, key)) }}
{%- endmacro %}


{% macro default__json_kind(record, key) -%}
    {{ medeval.duckdb_json_kind("json_type(cast(" ~ record ~ " as json) -> '" ~ key ~ "')") }}
{%- endmacro %}


{% macro postgres__json_kind(record, key) -%}
    json_typeof(cast({{ record }} as json) -> '{{ key }}')
{%- endmacro %}


{#- The kinds of the items of an array in an object, a row an item; none if it is no array. -#}
{% macro json_kinds(record, key, alias, kind_column) -%}
    {{ return(adapter.dispatch('json_kinds', 'medeval')(record, key, alias, kind_column)) }}
{%- endmacro %}


{% macro default__json_kinds(record, key, alias, kind_column) -%}
    lateral (
        select {{ medeval.duckdb_json_kind('item_types.item_type') }} as {{ kind_column }}
        from
            unnest(json_type(cast({{ record }} as json), '$.{{ key }}[*]')) as item_types (item_type)
    ) as {{ alias }}
{%- endmacro %}


{% macro postgres__json_kinds(record, key, alias, kind_column) -%}
    lateral (
        select json_typeof(items.item) as {{ kind_column }}
        from
            json_array_elements(
                case
                    when json_typeof(cast({{ record }} as json) -> '{{ key }}') = 'array'
                        then cast({{ record }} as json) -> '{{ key }}'
                end
            ) as items (item)
    ) as {{ alias }}
{%- endmacro %}


{#- DuckDB's name of a kind as the one that PostgreSQL has; it has several for numbers. -#}
{% macro duckdb_json_kind(type_name) -%}
    case {{ type_name }}
        when 'VARCHAR' then 'string'
        when 'BIGINT' then 'number'
        when 'UBIGINT' then 'number'
        when 'HUGEINT' then 'number'
        when 'UHUGEINT' then 'number'
        when 'DOUBLE' then 'number'
        else lower({{ type_name }})
    end
{%- endmacro %}


{% macro spark__json_kind(record, key) -%}
    {{ medeval.spark_json_kind(
        "variant_get(parse_json(" ~ record ~ "), '$." ~ key ~ "', 'variant')"
    ) }}
{%- endmacro %}


{% macro spark__json_kinds(record, key, alias, kind_column) -%}
    lateral (
        select {{ medeval.spark_json_kind('items.value') }} as {{ kind_column }}
        from
            variant_explode(
                case
                    when {{ json_kind(record, key) }} = 'array'
                        then variant_get(parse_json({{ record }}), '$.{{ key }}', 'variant')
                end
            ) as items
    ) as {{ alias }}
{%- endmacro %}


{% macro spark_json_kind(variant) -%}
    case
        when schema_of_variant({{ variant }}) = 'STRING' then 'string'
        when schema_of_variant({{ variant }}) = 'BOOLEAN' then 'boolean'
        when schema_of_variant({{ variant }}) = 'VOID' then 'null'
        when schema_of_variant({{ variant }}) like 'OBJECT%' then 'object'
        when schema_of_variant({{ variant }}) like 'ARRAY%' then 'array'
        when {{ variant }} is not null then 'number'
    end
{%- endmacro %}
