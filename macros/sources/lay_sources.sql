{#- Before a build: for every source that a selected node reads, check that its tables and columns
    are there and, on DuckDB, lay one view per table over the user's file or database file. -#}
{% macro lay_sources() %}
    {% if not execute or flags.WHICH not in ('build', 'run', 'test') %}
        {{ return('') }}
    {% endif %}
    {% set absent = [] %}
    {% set read = [] %}
    {% for source_name, tables in selected_source_tables() | dictsort %}
        {% do read.extend(tables | map(attribute='name')) %}
        {% do adapter.dispatch('lay_source', 'medeval')(source_name, tables, absent) %}
    {% endfor %}
    {% do check_absent_tables(read, absent) %}
    {{ return('') }}
{% endmacro %}


{#- The source tables that the selected nodes read, themselves or through views, as
    {source name: [source node, ...]}. The list grows while it is walked. A retry selects nothing:
    it needs what the run before it has laid. -#}
{% macro selected_source_tables() %}
    {% set found = {} %}
    {% set waiting = selected_resources | list %}
    {% for unique_id, table in graph.sources.items() if not selected_resources %}
        {% if adapter.get_relation(target.database, table.schema, table.name) is not none %}
            {% do waiting.append(unique_id) %}
        {% endif %}
    {% endfor %}
    {% for unique_id in waiting %}
        {% set table = graph.sources.get(unique_id) %}
        {% if table %}
            {% do found.setdefault(table.source_name, []).append(table) %}
        {% endif %}
        {% for parent in parents_of(unique_id) if parent not in waiting %}
            {% if parent in graph.sources or graph.nodes[parent].config.materialized == 'view' %}
                {% do waiting.append(parent) %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{#- A unit test is not in the graph; it needs the columns that its model reads. -#}
{% macro parents_of(unique_id) %}
    {% set parts = unique_id.split('.') %}
    {% if parts[0] == 'unit_test' %}
        {% set unique_id = ['model', parts[1], parts[2]] | join('.') %}
    {% endif %}
    {{ return(graph.nodes.get(unique_id, {}).get('depends_on', {}).get('nodes', [])) }}
{% endmacro %}


{% macro default__lay_source(source_name, tables, absent) %}
    {% set source_meta = tables[0].config.meta %}
    {% set place = source_place(source_meta) %}
    {% do keep_demo_off_real_data(place, source_meta) %}
    {% set found = find_tables(source_name, place, tables) %}
    {% if place.kind != 'absent' %}
        {% do log(source_name ~ ' is read from ' ~ place.description ~ '.', info=true) %}
    {% endif %}
    {% do adapter.create_schema(table_relation(tables[0])) %}
    {% set extra_columns = [] %}
    {% for table in tables | sort(attribute='name') %}
        {% if table.name == 'cohort_list' and var('cdm_cohort_file') %}
            {% set query = cohort_list_query(absolute_path(var('cdm_cohort_file'))) %}
        {% elif table.name in found %}
            {% do check_columns(table, found[table.name], extra_columns) %}
            {% set query = source_view_query(table, found[table.name]) %}
        {% else %}
            {% do absent.append(table.name) %}
            {% set query = empty_table_query(table) %}
        {% endif %}
        {% do run_query('create or replace view ' ~ table_relation(table) ~ ' as ' ~ query) %}
    {% endfor %}
    {% if extra_columns %}
        {% do exceptions.warn(
            'Columns that ' ~ source_name ~ ' does not have are ignored: '
            ~ extra_columns | join(', ')
        ) %}
    {% endif %}
{% endmacro %}


{#- {table name: {location, columns, relation}} of source nodes, wherever their data are; optional
    tables may be absent from it. -#}
{% macro find_tables(source_name, place, tables) %}
    {% set source_meta = tables[0].config.meta %}
    {% set table_names = tables | map(attribute='name') | reject('eq', 'cohort_list') | sort %}
    {% set optional_names = [] %}
    {% for table in tables if table.config.meta.optional %}
        {% do optional_names.append(table.name) %}
    {% endfor %}
    {% if place.kind == 'absent' and table_names | reject('in', optional_names) | list %}
        {% do exceptions.raise_compiler_error(
            source_meta.directory_variable ~ ' is not set, though '
            ~ set_source_variables(source_meta.floor) | join(' and ') ~ ' is. Name the folder of '
            ~ source_name ~ ' too: real and synthetic rows do not mix.'
        ) %}
    {% elif place.kind == 'absent' %}
        {{ return({}) }}
    {% elif source_meta.get('holds') == 'notes' %}
        {{ return({table_names | first: find_notes(place.location)}) }}
    {% elif source_meta.get('file_variable') %}
        {{ return({table_names | first: find_records_in_file(place.location)}) }}
    {% elif place.kind == 'database' %}
        {% set alias = database_alias(source_meta) %}
        {% do attach_source_database(alias, place.location) %}
        {% do return(
            find_tables_in_database(alias, place.location, table_names, optional_names)
        ) %}
    {% endif %}
    {% set module_names = source_meta.get('subfolders', []) %}
    {% set found = {} %}
    {% for table_name, readers in find_tables_in_folder(
        place.location, module_names, table_names, optional_names
    ).items() %}
        {% do check_forms_agree(table_name, readers) %}
        {% do found.update({table_name: readers[0]}) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{% macro empty_table_query(table) %}
    {% set selected = [] %}
    {% for column in table.config.meta.columns_read %}
        {% do selected.append(
            'cast(null as ' ~ dbt.type_string() ~ ') as ' ~ adapter.quote(column)
        ) %}
    {% endfor %}
    {{ return('select ' ~ selected | join(', ') ~ ' where false') }}
{% endmacro %}


{% macro table_relation(table) %}
    {{ return(api.Relation.create(
        database=target.database, schema=table.schema, identifier=table.name
    )) }}
{% endmacro %}


{#- On PostgreSQL the sources are real tables, of `python -m medeval load` or of mimic-code. The
    schema of the extracts is medeval's own: what is not there is made, empty. -#}
{% macro postgres__lay_source(source_name, tables, absent) %}
    {% set schema = tables[0].schema %}
    {% set load_kind = tables[0].config.meta.load_kind %}
    {#- The catalogue itself: information_schema lists no materialized view. -#}
    {% set rows = run_query(
        'select pg_class.relname, pg_attribute.attname from pg_catalog.pg_class '
        ~ 'inner join pg_catalog.pg_namespace on pg_class.relnamespace = pg_namespace.oid '
        ~ 'inner join pg_catalog.pg_attribute on pg_attribute.attrelid = pg_class.oid '
        ~ "where pg_class.relkind in ('r', 'p', 'v', 'm', 'f') and pg_attribute.attnum > 0 "
        ~ "and not pg_attribute.attisdropped and pg_namespace.nspname = '" ~ schema ~ "'"
    ) %}
    {% set columns = {} %}
    {% for row in rows.rows %}
        {% do columns.setdefault(row[0], []).append(row[1]) %}
    {% endfor %}
    {% for table in tables | sort(attribute='name') %}
        {% set relation = table_relation(table) %}
        {% if table.name not in columns and not tables[0].config.meta.demo %}
            {% do adapter.create_schema(relation) %}
            {% do run_query(
                'create table if not exists ' ~ relation ~ ' as ' ~ empty_table_query(table)
            ) %}
        {% elif table.name not in columns %}
            {% do exceptions.raise_compiler_error(
                'The table ' ~ schema ~ '.' ~ table.name ~ ' is not in the database "'
                ~ target.dbname ~ '". Load it with `python -m medeval load ' ~ load_kind
                ~ ' DIR`, or name the schema that holds it: --vars \'{' ~ source_name
                ~ '_schema: ...}\'.'
            ) %}
        {% else %}
            {% for column in table.config.meta.columns_read if column not in columns[table.name] %}
                {% do exceptions.raise_compiler_error(
                    'The table ' ~ schema ~ '.' ~ table.name ~ ' has no column "' ~ column
                    ~ '". If `load` has made it, make it anew: `python -m medeval load '
                    ~ load_kind ~ ' --replace`.'
                ) %}
            {% endfor %}
        {% endif %}
        {% if table.config.meta.optional %}
            {% if not run_query('select 1 from ' ~ relation ~ ' limit 1').rows %}
                {% do absent.append(table.name) %}
            {% endif %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- Every needed column is there; columns that the source's layout does not know are collected for
    one warning. -#}
{% macro check_columns(table, found, extra_columns) %}
    {% set known = table.config.meta.columns_read + table.config.meta.columns_not_read %}
    {% set missing = table.config.meta.columns_read | reject('in', found.columns) | list %}
    {% if missing %}
        {#- A file without a header has cells in that place, so only known names are shown. -#}
        {% do exceptions.raise_compiler_error(
            found.location ~ ' has no column ' ~ missing | join(', ') ~ '. The table ' ~ table.name
            ~ ' needs it. The header has ' ~ found.columns | length ~ ' columns, '
            ~ found.columns | select('in', known) | list | length ~ ' of them known: '
            ~ found.columns | select('in', known) | join(', ') ~ '.'
        ) %}
    {% endif %}
    {% for column in found.columns if column not in known %}
        {% do extra_columns.append(table.name ~ '.' ~ column) %}
    {% endfor %}
{% endmacro %}


{#- The view of one table: the needed columns by their lower-case names, everything as text. -#}
{% macro source_view_query(table, found) %}
    {% set selected = [] %}
    {% for column in table.config.meta.columns_read %}
        {% set name = adapter.quote(column) %}
        {% do selected.append('cast(' ~ name ~ ' as varchar) as ' ~ name) %}
    {% endfor %}
    {{ return('select ' ~ selected | join(', ') ~ ' from ' ~ found.relation) }}
{% endmacro %}
