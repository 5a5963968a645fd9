{#- Where a source is: {kind: 'folder' | 'database' | 'demo', location: absolute path, description}.
    The demo stands in only where neither of the source's variables is set, so real and synthetic
    rows never mix. -#}
{% macro source_place(source_meta) %}
    {% set folder = env_var(source_meta.directory_variable, '') %}
    {% set database = env_var(source_meta.database_variable, '') %}
    {% if folder and database %}
        {% do exceptions.raise_compiler_error(
            source_meta.directory_variable ~ ' and ' ~ source_meta.database_variable
            ~ ' are both set. Name one of them: a folder of files or a DuckDB file.'
        ) %}
    {% endif %}
    {% if database %}
        {% set kind, what = 'database', 'the DuckDB file' %}
    {% elif folder %}
        {% set kind, what = 'folder', 'the folder' %}
    {% else %}
        {% set kind, what = 'demo', 'the synthetic demo' %}
    {% endif %}
    {% set location = absolute_path(database or folder or source_meta.demo) %}
    {{ return({'kind': kind, 'location': location, 'description': what ~ ' ' ~ location}) }}
{% endmacro %}


{#- A warehouse that was built from the user's data is not built over with the demo because a variable
    is not set in this shell. -#}
{% macro keep_demo_off_real_data(source_name, place, source_meta) %}
    {% set builds = builds_relation() %}
    {% if place.kind == 'demo' and adapter.get_relation(builds.database, builds.schema, 'builds') %}
        {% set newest = run_query(
            'select source_kind, source_location from ' ~ builds ~ " where floor = '" ~ source_name
            ~ "' order by sequence_number desc limit 1"
        ).rows %}
        {% if newest and newest[0][0] != 'demo' %}
            {% do exceptions.raise_compiler_error(
                'This warehouse holds ' ~ source_name ~ ' of ' ~ newest[0][1] ~ ', and no source is'
                ~ ' named now, so the synthetic demo would take its place. Name the source ('
                ~ source_meta.directory_variable ~ ' or ' ~ source_meta.database_variable
                ~ '), or build the demo into a file of its own: MEDEVAL_DUCKDB=demo.duckdb.'
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro absolute_path(path) %}
    {{ return(run_query("select medeval_absolute_path('" ~ sql_text(path) ~ "')").rows[0][0]) }}
{% endmacro %}


{#- The inside of a SQL text literal. -#}
{% macro sql_text(value) %}
    {{ return(value | replace("'", "''")) }}
{% endmacro %}
