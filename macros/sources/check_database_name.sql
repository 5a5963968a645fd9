-- DuckDB calls a database after its file, and cannot tell it from a schema of the same name.
{% macro check_database_name() -%}
    {{ adapter.dispatch('check_database_name', 'medeval')() }}
{%- endmacro %}

{% macro default__check_database_name() -%}{%- endmacro %}

{% macro duckdb__check_database_name() -%}
    {% if execute and target.database in graph.nodes.values() | map(attribute='schema') | list %}
        {% do exceptions.raise_compiler_error(
            'The file of the warehouse (MEDEVAL_DUCKDB) is called ' ~ target.database
            ~ ', as is a schema in it, and DuckDB cannot tell the two apart. Give it another name,'
            ~ ' such as medeval.duckdb.'
        ) %}
    {% endif %}
{%- endmacro %}
