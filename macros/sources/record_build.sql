{#- The log of builds. Of each benchmark a row is written before its sources are looked at
    (`succeeded` is null: what was built before still stands whole), one when dbt starts to build
    tables (false), and one when it has ended well (true). What reads the tables takes the newest
    row, so a build that failed, was killed or stopped at its source is seen. `tests` says what the
    data tests said of the tables: passed, failed, or nothing where not all of them have run. No row
    is changed but by this. -#}

{#- With the database in front: a DuckDB file called medeval.duckdb is a database of the schema's
    name. -#}
{% macro builds_relation() %}
    {{ return(api.Relation.create(
        database=target.database, schema=built_schema('medeval') | trim, identifier='builds'
    )) }}
{% endmacro %}


{#- The newest row of a benchmark that says whether its tables are whole; none before the first. -#}
{% macro newest_build(floor, but_of='') %}
    {% set builds = builds_relation() %}
    {% if not run_query(
        'select 1 from information_schema.tables where table_catalog = current_database() and '
        ~ "table_schema = '" ~ builds.schema ~ "' and table_name = 'builds'"
    ).rows %}
        {{ return(none) }}
    {% endif %}
    {% set rows = run_query(
        'select * from ' ~ builds ~ " where floor = '" ~ floor ~ "' and invocation_id <> '" ~ but_of
        ~ "' and succeeded is not null order by sequence_number desc limit 1"
    ).rows %}
    {{ return(rows[0] if rows else none) }}
{% endmacro %}


{#- Stops where the demo would take the place of real data. -#}
{% macro floor_place(floor) %}
    {{ return(plugin().floor_place(graph, floor, target, newest_build(floor))) }}
{% endmacro %}


{% macro record_build_start(succeeded) %}
    {% if execute and flags.WHICH in ('build', 'run') %}
        {% set floors = plugin().built_floors(graph, selected_resources) %}
        {#- All of them before the first statement that writes. -#}
        {% for floor in floors %}
            {% do floor_place(floor) %}
        {% endfor %}
        {% do make_builds_table() %}
        {% for floor in floors %}
            {% do append_build_row(floor, succeeded) %}
        {% endfor %}
        {% do adapter.dispatch('keep_build_rows', 'medeval')() %}
    {% endif %}
    {{ return('') }}
{% endmacro %}


{% macro make_builds_table() %}
    {% do adapter.create_schema(builds_relation()) %}
    {% do run_query(
        'create table if not exists ' ~ builds_relation() ~ ' (sequence_number bigint, '
        ~ 'floor text, invocation_id text, started_at text, dbt_version text, '
        ~ 'project_version text, target text, source_kind text, source_location text, '
        ~ 'settings text, succeeded boolean, tests text)'
    ) %}
    {#- One of an earlier version may lack these. -#}
    {% for column in ('settings', 'tests') %}
        {% do run_query(
            'alter table ' ~ builds_relation() ~ ' add column if not exists ' ~ column ~ ' text'
        ) %}
    {% endfor %}
{% endmacro %}


{#- On PostgreSQL what stops the next hook would take the rows back; DuckDB keeps each. -#}
{% macro default__keep_build_rows() %}
{% endmacro %}


{% macro postgres__keep_build_rows() %}
    {% do run_query('commit') %}
{% endmacro %}


{#- A part of a benchmark says of itself alone that it ended well, so the build before must say it
    of the rest, with the same source and settings. -#}
{% macro record_build_end(results) %}
    {% if execute and flags.WHICH in ('build', 'run', 'test')
        and not flags.EMPTY and not flags.SAMPLE %}
        {% set statuses = {} %}
        {% for result in results if result.node.package_name == 'medeval' %}
            {% do statuses.update({result.node.unique_id: result.status | string}) %}
        {% endfor %}
        {% set bad = ['error', 'fail', 'skipped'] %}
        {% set is_whole = statuses.values() | select('in', bad) | list | length == 0 %}
        {#- A retry selects nothing. -#}
        {% set built = selected_resources or statuses.keys() %}
        {% if flags.WHICH == 'test' %}
            {% do record_tests(statuses) %}
        {% endif %}
        {% for floor in plugin().built_floors(graph, built) if is_whole %}
            {% set is_part = plugin().is_part(graph, floor, selected_resources) %}
            {% set before = newest_build(floor, invocation_id) %}
            {% set place = floor_place(floor) %}
            {% if is_part and before and not (
                before.succeeded and before.source_kind == place.kind
                and before.source_location == place.location
                and before.settings == plugin().settings(floor, var)
            ) %}
                {% do log(
                    'Only a part of ' ~ floor ~ ' was built, over a build that failed or had'
                    ~ ' another source or other settings. Before an export, run `dbt build --select '
                    ~ floor ~ '`.', info=true
                ) %}
            {% else %}
                {% do append_build_row(floor, 'true', plugin().outcome_of_tests(
                    graph, floor, statuses, built=selected_resources if is_part else [],
                    passed_before=before and before.tests == 'passed'
                )) %}
            {% endif %}
        {% endfor %}
    {% endif %}
    {{ return('') }}
{% endmacro %}


{#- After `dbt test`: the tables that stand there have passed, or not. -#}
{% macro record_tests(statuses) %}
    {% for floor in plugin().tests_by_floor(graph) %}
        {% set outcome = plugin().outcome_of_tests(graph, floor, statuses) %}
        {% set newest = newest_build(floor) if outcome else none %}
        {% if newest and newest.succeeded %}
            {% do make_builds_table() %}
            {% do run_query(
                'update ' ~ builds_relation() ~ " set tests = '" ~ outcome
                ~ "' where sequence_number = " ~ newest.sequence_number
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro append_build_row(floor, succeeded, tests=none) %}
    {% set builds = builds_relation() %}
    {% set place = floor_place(floor) %}
    {% set literals = [] %}
    {% for value in (
        floor, invocation_id, run_started_at.strftime('%Y-%m-%dT%H:%M:%SZ'), dbt_version,
        plugin().version, target.name, place.kind, place.location, plugin().settings(floor, var)
    ) %}
        {% do literals.append("'" ~ sql_text(value) ~ "'") %}
    {% endfor %}
    {% do run_query(
        'insert into ' ~ builds ~ ' (sequence_number, floor, invocation_id, started_at, dbt_version, '
        ~ 'project_version, target, source_kind, source_location, settings, succeeded, tests) '
        ~ 'select coalesce(max(sequence_number), 0) + 1, ' ~ literals | join(', ') ~ ', '
        ~ succeeded ~ ', ' ~ ("'" ~ tests ~ "'" if tests else 'cast(null as text)')
        ~ ' from ' ~ builds
    ) %}
{% endmacro %}
