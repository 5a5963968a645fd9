{#- Attach the user's DuckDB file (as mimic-code makes it), read-only. -#}
{% macro attach_source_database(source_name, path) %}
    {% set alias = source_name ~ '_source' %}
    {% set attached = run_query(
        "select path from duckdb_databases() where database_name = '" ~ alias ~ "'"
    ).rows %}
    {% if not attached %}
        {% do run_query(
            "attach '" ~ sql_text(path) ~ "' as " ~ adapter.quote(alias) ~ ' (read_only)'
        ) %}
    {% endif %}
{% endmacro %}


{#- Find a table by its name in any case, in the attached file. Returns {location, columns, relation}. -#}
{% macro find_table_in_database(source_name, path, table_name) %}
    {% set alias = source_name ~ '_source' %}
    {% set rows = run_query(
        "select schema_name, table_name, column_name from duckdb_columns() "
        ~ "where database_name = '" ~ alias ~ "' and lower(table_name) = '" ~ table_name
        ~ "' order by schema_name, table_name, column_index"
    ).rows %}
    {% if not rows %}
        {% do exceptions.raise_compiler_error(
            'The table ' ~ table_name ~ ' is needed and is not in ' ~ path ~ '.'
        ) %}
    {% endif %}
    {% set places = {} %}
    {% for row in rows %}
        {% set relation = [alias, row[0], row[1]] | map('string') | list %}
        {% do places.setdefault(relation | join('"."'), []).append(row[2]) %}
    {% endfor %}
    {% if places | length > 1 %}
        {% do exceptions.raise_compiler_error(
            'The table ' ~ table_name ~ ' stands more than once in ' ~ path ~ ': '
            ~ places.keys() | join(', ') | replace('"', '') ~ '. Keep one.'
        ) %}
    {% endif %}
    {% set relation = places.keys() | first %}
    {{ return({
        'location': path ~ ' (' ~ relation | replace('"', '') ~ ')',
        'columns': places[relation],
        'relation': '"' ~ relation ~ '"'
    }) }}
{% endmacro %}
