{#- The log of builds, append-only. Of each benchmark a row is written before its sources are looked at
    (`succeeded` is null: what was built before still stands whole), one when dbt starts to build tables
    (false), and one when it has ended well (true). What reads the tables takes the newest row, so a
    build that failed, was killed or stopped at its source is seen. -#}

{#- A retry selects nothing; what it ran is in its results. -#}
{% macro built_floors(results=[]) %}
    {% set floors = [] %}
    {% for unique_id in selected_resources %}
        {% set node = graph.nodes.get(unique_id) %}
        {% if node is not none and node.resource_type == 'model' %}
            {% do floors.append(node.fqn[1]) %}
        {% endif %}
    {% endfor %}
    {% if not selected_resources %}
        {% for result in results if result.node.resource_type != 'operation' %}
            {% do floors.append(result.node.fqn[1]) %}
        {% endfor %}
    {% endif %}
    {{ return(floors | unique | sort) }}
{% endmacro %}


{#- With the database in front: a DuckDB file called medeval.duckdb is a database of the schema's
    name. -#}
{% macro builds_relation() %}
    {{ return(api.Relation.create(
        database=target.database, schema=built_schema('medeval') | trim, identifier='builds'
    )) }}
{% endmacro %}


{% macro record_build_start(succeeded) %}
    {% if execute and flags.WHICH in ('build', 'run') %}
        {% for floor in built_floors() %}
            {% do adapter.dispatch('check_floor_place', 'medeval')(floor) %}
        {% endfor %}
        {% do adapter.create_schema(builds_relation()) %}
        {% do run_query(
            'create table if not exists ' ~ builds_relation() ~ ' (sequence_number bigint, '
            ~ 'floor text, invocation_id text, started_at text, dbt_version text, '
            ~ 'project_version text, target text, source_kind text, source_location text, '
            ~ 'settings text, succeeded boolean)'
        ) %}
        {% do run_query('alter table ' ~ builds_relation() ~ ' add column if not exists settings text') %}
        {% for floor in built_floors() %}
            {% do append_build_row(floor, succeeded) %}
        {% endfor %}
        {% do adapter.dispatch('keep_build_rows', 'medeval')() %}
    {% endif %}
    {{ return('') }}
{% endmacro %}


{#- On PostgreSQL what stops the next hook would take the rows back; DuckDB keeps each by itself. -#}
{% macro default__keep_build_rows() %}
{% endmacro %}


{% macro postgres__keep_build_rows() %}
    {% do run_query('commit') %}
{% endmacro %}


{% macro record_build_end(results) %}
    {% if execute and flags.WHICH in ('build', 'run') and not flags.EMPTY and not flags.SAMPLE %}
        {% set bad = ['error', 'fail', 'skipped'] %}
        {% set failures = results | selectattr('status', 'in', bad) | list %}
        {% for floor in built_floors(results) if not failures %}
            {% if is_whole_build(floor) %}
                {% do append_build_row(floor, 'true') %}
            {% else %}
                {% do log(
                    'Only a part of ' ~ floor ~ ' was built, over a build that failed or had'
                    ~ ' another source or other settings. Before an export, run `dbt build --select ' ~ floor ~ '`.',
                    info=true
                ) %}
            {% endif %}
        {% endfor %}
    {% endif %}
    {{ return('') }}
{% endmacro %}


{#- Are the floor's tables of one source and of builds that ended well? A part of the floor says it
    only of itself, so the build before must say it of the rest. -#}
{% macro is_whole_build(floor) %}
    {% if not selected_resources %}
        {{ return(true) }}
    {% endif %}
    {% set left_out = [] %}
    {% for unique_id, node in graph.nodes.items() if unique_id not in selected_resources %}
        {% if node.resource_type == 'model' and node.fqn[1] == floor %}
            {% do left_out.append(unique_id) %}
        {% endif %}
    {% endfor %}
    {% set before = run_query(
        'select succeeded, source_kind, source_location, settings from ' ~ builds_relation()
        ~ " where floor = '" ~ floor ~ "' and invocation_id <> '" ~ invocation_id
        ~ "' and succeeded is not null order by sequence_number desc limit 1"
    ).rows %}
    {% set place = adapter.dispatch('floor_place', 'medeval')(floor) %}
    {{ return(
        not left_out or not before
        or (
            before[0][0] and before[0][1] == place.kind and before[0][2] == place.location
            and (before[0][3] or '') == floor_settings(floor)
        )
    ) }}
{% endmacro %}


{% macro append_build_row(floor, succeeded) %}
    {% set builds = builds_relation() %}
    {% set place = adapter.dispatch('floor_place', 'medeval')(floor) %}
    {% set texts = [
        floor, invocation_id, run_started_at.strftime('%Y-%m-%dT%H:%M:%SZ'), dbt_version,
        '0.1.0', target.name, place.kind, place.location,
        floor_settings(floor)
    ] %}
    {% set literals = [] %}
    {% for value in texts %}
        {% do literals.append("'" ~ sql_text(value) ~ "'") %}
    {% endfor %}
    {% do run_query(
        'insert into ' ~ builds ~ ' (sequence_number, floor, invocation_id, started_at, dbt_version, '
        ~ 'project_version, target, source_kind, source_location, settings, succeeded) '
        ~ 'select coalesce(max(sequence_number), 0) + 1, '
        ~ literals | join(', ') ~ ', ' ~ succeeded ~ ' from ' ~ builds
    ) %}
{% endmacro %}


{#- Stop where the variables contradict each other or would bring the demo over real data: nothing is
    begun then, and nothing written. -#}
{% macro default__check_floor_place(floor) %}
    {% for source_meta in floor_source_metas(floor) %}
        {% do keep_demo_off_real_data(source_place(source_meta), source_meta) %}
    {% endfor %}
{% endmacro %}


{% macro postgres__check_floor_place(floor) %}
{% endmacro %}


{#- The places of all sources of a floor: the kind of the first, and every location once, with links
    resolved: what reads the tables asks whether the same is named. -#}
{% macro default__floor_place(floor) %}
    {% set kinds = [] %}
    {% set locations = [] %}
    {% for source_meta in floor_source_metas(floor) %}
        {% set place = source_place(source_meta) %}
        {% if place.kind != 'absent' %}
            {% do kinds.append(place.kind) %}
            {% do locations.append(run_query(
                "select medeval_real_path('" ~ sql_text(place.location) ~ "')"
            ).rows[0][0]) %}
        {% endif %}
    {% endfor %}
    {{ return({
        'kind': kinds | first | default('none', true), 'location': locations | unique | join('; ')
    }) }}
{% endmacro %}


{% macro postgres__floor_place(floor) %}
    {% set schemas = [] %}
    {% for table in graph.sources.values() if table.config.meta.floor == floor %}
        {% do schemas.append(target.dbname ~ '.' ~ table.schema) %}
    {% endfor %}
    {{ return({
        'kind': 'schema' if schemas else 'none', 'location': schemas | unique | join('; ')
    }) }}
{% endmacro %}


{#- The choices of a floor that change its tables, as a text: a part built with others makes no whole. -#}
{% macro floor_settings(floor) %}
    {% set settings = [] %}
    {% if floor == 'cdm' %}
        {% for name in (
            'cdm_rules', 'cdm_extract_source', 'cdm_cohort_file', 'pelvis_as_abdomen'
        ) %}
            {% do settings.append(name ~ '=' ~ var(name)) %}
        {% endfor %}
    {% elif floor == 'mtsamples' %}
        {% do settings.append('mtsamples_truncation=' ~ var('mtsamples_truncation')) %}
    {% endif %}
    {{ return(settings | join(', ')) }}
{% endmacro %}
