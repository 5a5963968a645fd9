{#- The log of builds, append-only: one row when dbt starts on a benchmark and one when it has ended
    well. An export takes the newest row, so a build that failed or was killed is seen. -#}

{% macro built_floors() %}
    {% set floors = [] %}
    {% for unique_id in selected_resources %}
        {% set node = graph.nodes.get(unique_id) %}
        {% if node is not none and node.resource_type == 'model' and node.fqn[1] not in floors %}
            {% do floors.append(node.fqn[1]) %}
        {% endif %}
    {% endfor %}
    {{ return(floors | sort) }}
{% endmacro %}


{#- With the database in front: a DuckDB file called medeval.duckdb is a database of the schema's name. -#}
{% macro builds_relation() %}
    {{ return(api.Relation.create(
        database=target.database, schema=built_schema('medeval') | trim, identifier='builds'
    )) }}
{% endmacro %}


{% macro record_build_start() %}
    {% if execute and flags.WHICH in ('build', 'run', 'retry') %}
        {% do adapter.create_schema(builds_relation()) %}
        {% do run_query(
            'create table if not exists ' ~ builds_relation() ~ ' (sequence_number bigint, floor text, '
            ~ 'invocation_id text, started_at text, dbt_version text, project_version text, '
            ~ 'target text, source_kind text, source_location text, succeeded boolean)'
        ) %}
        {% do append_build_rows(false) %}
    {% endif %}
    {{ return('') }}
{% endmacro %}


{% macro record_build_end(results) %}
    {% if execute and flags.WHICH in ('build', 'run', 'retry') %}
        {% set failures = results | selectattr('status', 'in', ['error', 'fail', 'skipped']) | list %}
        {% if not failures %}
            {% do append_build_rows(true) %}
        {% endif %}
    {% endif %}
    {{ return('') }}
{% endmacro %}


{% macro append_build_rows(succeeded) %}
    {% set builds = builds_relation() %}
    {% for floor in built_floors() %}
        {% set place = adapter.dispatch('floor_place', 'medeval')(floor) %}
        {% set texts = [
            floor, invocation_id, run_started_at.strftime('%Y-%m-%dT%H:%M:%SZ'), dbt_version,
            '0.1.0', target.name, place.kind, place.location
        ] %}
        {% set literals = [] %}
        {% for value in texts %}
            {% do literals.append("'" ~ sql_text(value) ~ "'") %}
        {% endfor %}
        {% do run_query(
            'insert into ' ~ builds ~ ' select coalesce(max(sequence_number), 0) + 1, '
            ~ literals | join(', ') ~ ', ' ~ succeeded | string | lower ~ ' from ' ~ builds
        ) %}
    {% endfor %}
{% endmacro %}


{#- The place of the source that has the floor's own name. -#}
{% macro default__floor_place(floor) %}
    {% for table in graph.sources.values() if table.source_name == floor %}
        {{ return(source_place(table.config.meta)) }}
    {% endfor %}
    {{ return({'kind': 'none', 'location': ''}) }}
{% endmacro %}


{% macro postgres__floor_place(floor) %}
    {% for table in graph.sources.values() if table.source_name == floor %}
        {{ return({'kind': 'schema', 'location': target.dbname ~ '.' ~ table.schema}) }}
    {% endfor %}
    {{ return({'kind': 'none', 'location': ''}) }}
{% endmacro %}
