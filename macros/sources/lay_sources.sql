{#- Before a build: for every source that a selected node reads, check that its tables and columns are
    there and, on DuckDB, lay one view per table over the user's file or database file. -#}
{% macro lay_sources() %}
    {% if not execute or flags.WHICH not in ('build', 'run', 'test', 'show', 'retry') %}
        {{ return('') }}
    {% endif %}
    {% set tables_by_source = selected_source_tables() %}
    {% for source_name, tables in tables_by_source.items() %}
        {% do adapter.dispatch('lay_source', 'medeval')(source_name, tables) %}
    {% endfor %}
    {{ return('') }}
{% endmacro %}


{#- The source tables that the selected nodes read, as {source name: [source node, ...]}. -#}
{% macro selected_source_tables() %}
    {% set found = {} %}
    {% for unique_id in selected_resources %}
        {% set node = graph.nodes.get(unique_id) %}
        {% if node is not none and node.resource_type == 'model' %}
            {% for parent in node.depends_on.nodes if parent.startswith('source.') %}
                {% set table = graph.sources[parent] %}
                {% set tables = found.setdefault(table.source_name, []) %}
                {% if table not in tables %}
                    {% do tables.append(table) %}
                {% endif %}
            {% endfor %}
        {% endif %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{% macro default__lay_source(source_name, tables) %}
    {% set place = source_place(tables[0].config.meta) %}
    {% do adapter.create_schema(table_relation(tables[0])) %}
    {% if place.kind == 'database' %}
        {% do attach_source_database(source_name, place.location) %}
    {% endif %}
    {% set extra_columns = [] %}
    {% for table in tables | sort(attribute='name') %}
        {% if place.kind == 'database' %}
            {% set found = find_table_in_database(source_name, place.location, table.name) %}
        {% else %}
            {% set found = find_table_in_folder(place, table.name) %}
        {% endif %}
        {% do check_columns(table, found, extra_columns) %}
        {% do run_query(
            'create or replace view ' ~ table_relation(table) ~ ' as ' ~ source_view_query(table, found)
        ) %}
    {% endfor %}
    {% if extra_columns %}
        {% do exceptions.warn(
            'Columns that ' ~ source_name ~ ' does not have are ignored: ' ~ extra_columns | join(', ')
        ) %}
    {% endif %}
{% endmacro %}


{% macro table_relation(table) %}
    {{ return(api.Relation.create(
        database=target.database, schema=table.schema, identifier=table.name
    )) }}
{% endmacro %}


{#- On PostgreSQL the sources are real tables, laid by `python -m medeval load` or by mimic-code. -#}
{% macro postgres__lay_source(source_name, tables) %}
    {% set schema = tables[0].schema %}
    {% set rows = run_query(
        "select table_name, column_name from information_schema.columns where table_schema = '"
        ~ schema ~ "'"
    ) %}
    {% set columns = {} %}
    {% for row in rows.rows %}
        {% do columns.setdefault(row[0], []).append(row[1]) %}
    {% endfor %}
    {% for table in tables | sort(attribute='name') %}
        {% if table.name not in columns %}
            {% do exceptions.raise_compiler_error(
                'The table ' ~ schema ~ '.' ~ table.name ~ ' is not in the database "'
                ~ target.dbname ~ '". Load it with `python -m medeval load ' ~ source_name
                ~ ' DIR`, or name the schema that holds it: --vars \'{' ~ source_name
                ~ '_schema: ...}\'.'
            ) %}
        {% endif %}
        {% for column in table.config.meta.columns_read if column not in columns[table.name] %}
            {% do exceptions.raise_compiler_error(
                'The table ' ~ schema ~ '.' ~ table.name ~ ' has no column "' ~ column ~ '".'
            ) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#- Every needed column is there, and none twice; columns that the source's layout does not know are
    collected for one warning. -#}
{% macro check_columns(table, found, extra_columns) %}
    {% set names = found.columns | map('lower') | list %}
    {% for column in table.config.meta.columns_read if column not in names %}
        {% do exceptions.raise_compiler_error(
            'The column "' ~ column ~ '" is not in ' ~ found.location ~ ' (table ' ~ table.name
            ~ '). Its columns are: ' ~ names | join(', ') ~ '.'
        ) %}
    {% endfor %}
    {% for column in names %}
        {% if names | select('equalto', column) | list | length > 1 %}
            {% do exceptions.raise_compiler_error(
                'The column "' ~ column ~ '" stands twice in ' ~ found.location ~ '.'
            ) %}
        {% endif %}
        {% if column not in table.config.meta.columns_read and column not in table.config.meta.columns_not_read %}
            {% do extra_columns.append(table.name ~ '.' ~ column) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- The view of one table: the needed columns by their lower-case names, everything as text. -#}
{% macro source_view_query(table, found) %}
    {% set selected = [] %}
    {% for column in found.columns if column | lower in table.config.meta.columns_read %}
        {% do selected.append(
            'cast(' ~ adapter.quote(column) ~ ' as varchar) as ' ~ adapter.quote(column | lower)
        ) %}
    {% endfor %}
    {{ return('select ' ~ selected | join(', ') ~ ' from ' ~ found.relation) }}
{% endmacro %}
