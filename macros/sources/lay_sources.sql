{#- Before a build: for every source that a selected node reads, check that its tables and columns
    are there and, on DuckDB, lay one view per table over the user's file or database file. -#}
{% macro lay_sources() %}
    {% if execute and flags.WHICH in ('build', 'run', 'test') %}
        {#- A retry selects nothing; it reads what there is. -#}
        {% set laid = [] if selected_resources else existing_relations() %}
        {% set absent = [] %}
        {% for tables in plugin().read_sources(graph, selected_resources, laid) %}
            {% if tables[0].config.meta.holds == 'published' %}
                {% do make_published(table_relation(tables[0])) %}
            {% else %}
                {% do absent.extend(adapter.dispatch('lay_source', 'medeval')(tables)) %}
            {% endif %}
        {% endfor %}
        {% do plugin().check_absent_tables(absent, var) %}
    {% endif %}
    {{ return('') }}
{% endmacro %}


{#- The table of published scores, empty where nothing was ever published. No build changes it. -#}
{% macro make_published(relation) %}
    {% do adapter.create_schema(relation) %}
    {% do run_query(plugin().create_published(relation | string)) %}
{% endmacro %}


{#- Returns the names of the tables that are not there and need not be. -#}
{% macro default__lay_source(tables) %}
    {{ return(lay_views(tables, source_views(tables, flags.WHICH in ('build', 'run')))) }}
{% endmacro %}


{% macro lay_views(tables, views) %}
    {% for note in views.notes %}
        {% do log(note, info=true) %}
    {% endfor %}
    {% do adapter.create_schema(table_relation(tables[0])) %}
    {% for table in tables %}
        {% do run_query(
            'create or replace view ' ~ table_relation(table) ~ ' as ' ~ views.queries[table.name]
        ) %}
    {% endfor %}
    {% for warning in views.warnings %}
        {% do exceptions.warn(warning) %}
    {% endfor %}
    {{ return(views.absent) }}
{% endmacro %}


{#- The queries over one source, wherever it is, with what there is to say of it. -#}
{% macro source_views(tables, counts_rows=false) %}
    {% set meta = tables[0].config.meta %}
    {% do plugin().floor_place(build_log(), meta.floor) %}
    {% set place = plugin().source_place(tables, graph) %}
    {% set catalogue = [] %}
    {% if place.kind == 'database' %}
        {% set attached = run_query('select database_name, path from duckdb_databases()').rows %}
        {% for statement in plugin().attach(place, meta.database_variable, attached) %}
            {% do run_query(statement) %}
        {% endfor %}
        {% set catalogue = run_query(
            "select schema_name, table_name, column_name from duckdb_columns() where database_name = '"
            ~ plugin().database_alias(meta.database_variable)
            ~ "' order by schema_name, table_name, column_index"
        ).rows %}
    {% endif %}
    {{ return(plugin().source_views(
        tables, place, catalogue, cohort_file=var('cdm_cohort_file'), counts_rows=counts_rows
    )) }}
{% endmacro %}


{% macro table_relation(table) %}
    {{ return(api.Relation.create(
        database=target.get('database'), schema=table.schema, identifier=table.name
    )) }}
{% endmacro %}


{#- On PostgreSQL the sources are real tables, of `python -m medeval load` or of mimic-code. The
    schema of the extracts is medeval's own: what is not there is made, empty. -#}
{% macro postgres__lay_source(tables) %}
    {{ return(check_tables(tables, postgres_columns(tables[0].schema))) }}
{% endmacro %}


{#- On Spark the sources are Parquet of `python -m medeval load`, or tables of the catalogue where
    no folder is named. -#}
{% macro spark__lay_source(tables) %}
    {% if plugin().is_source_named(tables, graph) %}
        {{ return(lay_views(tables, spark_source_views(tables))) }}
    {% endif %}
    {{ return(check_tables(tables, plugin().spark_columns(run_query, tables[0].schema))) }}
{% endmacro %}


{% macro spark_source_views(tables) %}
    {% do plugin().floor_place(build_log(), tables[0].config.meta.floor) %}
    {{ return(plugin().parquet_views(run_query, tables, plugin().source_place(tables, graph))) }}
{% endmacro %}


{#- Checks real tables, `there`: {name: its columns}. What may be absent and is, is made empty. -#}
{% macro check_tables(tables, there) %}
    {% set absent = [] %}
    {% for table in tables | sort(attribute='name') %}
        {% set relation = table_relation(table) %}
        {% if plugin().is_empty_by_default(table, there, plugin().database_of(target)) %}
            {% do adapter.create_schema(relation) %}
            {% do run_query(
                'create table if not exists ' ~ relation ~ ' as ' ~ plugin().empty_query(table)
            ) %}
            {#- By it `load` knows that they are not the user's. -#}
            {% do run_query('comment on table ' ~ relation ~ " is 'made empty by medeval'") %}
        {% endif %}
        {% if table.config.meta.optional %}
            {% if not run_query('select 1 from ' ~ relation ~ ' limit 1').rows %}
                {% do absent.append(table.name) %}
            {% elif table.name == 'cohort_list' and not var('cdm_cohort_file')
                and flags.WHICH != 'test' %}
                {% set count = run_query('select count(*) from ' ~ relation).rows[0][0] %}
                {% do plugin().check_unnamed_list(count, table.schema) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {{ return(absent) }}
{% endmacro %}


{#- The columns of every relation of a schema, by the catalogue itself: information_schema lists no
    materialized view. -#}
{% macro postgres_columns(schema) %}
    {% set columns = {} %}
    {% for row in run_query(
        'select pg_class.relname, pg_attribute.attname from pg_catalog.pg_class '
        ~ 'inner join pg_catalog.pg_namespace on pg_class.relnamespace = pg_namespace.oid '
        ~ 'inner join pg_catalog.pg_attribute on pg_attribute.attrelid = pg_class.oid '
        ~ "where pg_class.relkind in ('r', 'p', 'v', 'm', 'f') and pg_attribute.attnum > 0 "
        ~ "and not pg_attribute.attisdropped and pg_namespace.nspname = '" ~ schema ~ "'"
    ).rows %}
        {% do columns.setdefault(row[0], []).append(row[1]) %}
    {% endfor %}
    {{ return(columns) }}
{% endmacro %}


{#- Schema and name of every table and view that there is, at least of the named schemas. -#}
{% macro existing_relations(schemas=none) %}
    {{ return(adapter.dispatch('existing_relations', 'medeval')(schemas)) }}
{% endmacro %}


{% macro default__existing_relations(schemas) %}
    {{ return(run_query(
        'select table_schema, table_name from information_schema.tables'
        ~ ' where table_catalog = current_database()'
    ).rows) }}
{% endmacro %}


{#- Of the schemas that this project names: a catalogue may have very many, and each is a
    statement. -#}
{% macro spark__existing_relations(schemas) %}
    {% set found = [] %}
    {% if schemas is none %}
        {% set nodes = (graph.nodes.values() | list) + (graph.sources.values() | list) %}
        {% set schemas = nodes | map(attribute='schema') | list %}
    {% endif %}
    {% for row in run_query('show databases').rows if row[0] in schemas %}
        {% for table in run_query('show tables in ' ~ row[0]).rows %}
            {% do found.append([row[0], table[1]]) %}
        {% endfor %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}
