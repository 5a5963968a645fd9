{#- Columns for the list of a `select` that make one row of each part of a text: what stands between
    its separators, and its number, 1, 2, ... A lateral join does the same and takes ten times as
    long on DuckDB. An empty text has no part on PostgreSQL, and an empty one on DuckDB. -#}
{% macro parts_of(text, separator, part_column, number_column) -%}
    {{ return(adapter.dispatch('parts_of', 'medeval')(
        text, separator, part_column, number_column
    )) }}
{%- endmacro %}


{% macro default__parts_of(text, separator, part_column, number_column) -%}
    {{ unnested(
        'string_to_array(' ~ text ~ ', ' ~ separator ~ ')', part_column, number_column
    ) }}
{%- endmacro %}


{#- The same for what stands between the matches of a pattern. -#}
{% macro parts_between_matches(text, pattern, part_column, number_column) -%}
    {{ return(adapter.dispatch('parts_between_matches', 'medeval')(
        text, pattern, part_column, number_column
    )) }}
{%- endmacro %}


{% macro default__parts_between_matches(text, pattern, part_column, number_column) -%}
    {{ unnested(
        'regexp_split_to_array(' ~ text ~ ', ' ~ pattern ~ ')', part_column, number_column
    ) }}
{%- endmacro %}


{#- The same for the items of an array. -#}
{% macro unnested(array, item_column, number_column) -%}
    {{ return(adapter.dispatch('unnested', 'medeval')(array, item_column, number_column)) }}
{%- endmacro %}


{#- Both functions give as many rows, so that they go side by side. -#}
{% macro default__unnested(array, item_column, number_column) -%}
    unnest({{ array }}) as {{ item_column }},
        generate_subscripts({{ array }}, 1) as {{ number_column }}
{%- endmacro %}


{#- Spark splits by a pattern, in which the separator stands for itself. -#}
{% macro spark__parts_of(text, separator, part_column, number_column) -%}
    {{ unnested(
        "split(" ~ text ~ ", concat('\\Q', " ~ separator ~ ", '\\E'), -1)", part_column, number_column
    ) }}
{%- endmacro %}


{% macro spark__parts_between_matches(text, pattern, part_column, number_column) -%}
    {{ unnested('split(' ~ text ~ ', ' ~ pattern ~ ', -1)', part_column, number_column) }}
{%- endmacro %}


{#- One function for both columns: Spark takes one such function in a list. -#}
{% macro spark__unnested(array, item_column, number_column) -%}
    inline(transform({{ array }}, (item, place) -> struct(item, place + 1)))
        as ({{ item_column }}, {{ number_column }})
{%- endmacro %}
