{#- A lateral relation of the parts of a text between its separators: a row each, numbered 1, 2, ...
    An empty text has no part on PostgreSQL and an empty one on DuckDB. -#}
{% macro parts_of(text, separator, alias, part_column, number_column) -%}
    {{ return(adapter.dispatch('parts_of', 'medeval')(
        text, separator, alias, part_column, number_column
    )) }}
{%- endmacro %}


{% macro default__parts_of(text, separator, alias, part_column, number_column) -%}
    lateral unnest(string_to_array({{ text }}, {{ separator }}))
        with ordinality as {{ alias }} ({{ part_column }}, {{ number_column }})
{%- endmacro %}


{#- The same for parts between the matches of a pattern. -#}
{% macro parts_between_matches(text, pattern, alias, part_column, number_column) -%}
    {{ return(adapter.dispatch('parts_between_matches', 'medeval')(
        text, pattern, alias, part_column, number_column
    )) }}
{%- endmacro %}


{% macro default__parts_between_matches(text, pattern, alias, part_column, number_column) -%}
    lateral unnest(regexp_split_to_array({{ text }}, {{ pattern }}))
        with ordinality as {{ alias }} ({{ part_column }}, {{ number_column }})
{%- endmacro %}
