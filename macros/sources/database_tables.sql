{#- Attach the user's DuckDB file (as mimic-code makes it), read-only. One process may see several
    files in turn. -#}
{% macro attach_source_database(alias, path) %}
    {% set problem = run_query(
        "select medeval_database_problem('" ~ sql_text(path) ~ "')"
    ).rows[0][0] %}
    {% if problem %}
        {% do exceptions.raise_compiler_error(problem) %}
    {% endif %}
    {% set attached = run_query(
        "select path from duckdb_databases() where database_name = '" ~ alias ~ "'"
    ).rows %}
    {% if attached and attached[0][0] != path %}
        {% do run_query('detach ' ~ adapter.quote(alias)) %}
    {% endif %}
    {% if not attached or attached[0][0] != path %}
        {% do run_query(
            "attach '" ~ sql_text(path) ~ "' as " ~ adapter.quote(alias) ~ ' (read_only)'
        ) %}
    {% endif %}
{% endmacro %}


{#- `mimic4_source` for MEDEVAL_MIMIC4_DB: DuckDB attaches a file once, whatever sources are in it. -#}
{% macro database_alias(source_meta) %}
    {{ return(
        source_meta.database_variable | lower | replace('medeval_', '') | replace('_db', '_source')
    ) }}
{% endmacro %}


{#- The tables of a source in the attached file, by their names in any case. Returns
    {table name: {location, columns, relation}}; optional tables may be absent from it. -#}
{% macro find_tables_in_database(alias, path, table_names, optional_names) %}
    {% set rows = run_query(
        'select lower(table_name), schema_name, table_name, lower(column_name) '
        ~ "from duckdb_columns() where database_name = '" ~ alias
        ~ "' order by schema_name, table_name, column_index"
    ).rows %}
    {% set places = {} %}
    {% for row in rows if row[0] in table_names %}
        {#- The file is the user's, and a schema of it may be called anything. -#}
        {% set schema = adapter.quote(alias) ~ '.' ~ adapter.quote(row[1] | replace('"', '""')) %}
        {% set relation = schema ~ '.' ~ adapter.quote(row[2]) %}
        {% do places.setdefault(row[0], {}).setdefault(relation, []).append(row[3]) %}
    {% endfor %}
    {% set needed = table_names | reject('in', optional_names) %}
    {% set missing = needed | reject('in', places) | list %}
    {% if missing %}
        {% do exceptions.raise_compiler_error(
            'Missing in ' ~ path ~ ': the table ' ~ missing | join(', the table ')
            ~ ' (names in upper or lower case).'
        ) %}
    {% endif %}
    {% set found = {} %}
    {% for table_name, relations in places.items() %}
        {% if relations | length > 1 %}
            {% do exceptions.raise_compiler_error(
                'The table ' ~ table_name ~ ' stands more than once in ' ~ path ~ ': '
                ~ relations.keys() | join(', ') | replace('"', '') ~ '. Keep one.'
            ) %}
        {% endif %}
        {% set relation = relations.keys() | first %}
        {% do found.update({table_name: {
            'location': path ~ ' (' ~ relation | replace('"', '') ~ ')',
            'columns': relations[relation],
            'relation': relation
        }}) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}
