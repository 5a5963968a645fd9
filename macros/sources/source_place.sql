{#- Where a source is: {kind: 'folder' | 'file' | 'cache' | 'database' | 'demo' | 'absent', location: absolute
    path, description}. The demo stands in only where none of the variables of the benchmark is set, so real
    and synthetic rows never mix. -#}
{% macro source_place(source_meta) %}
    {% set file = env_var(source_meta.file_variable, '') if source_meta.get('file_variable') else '' %}
    {% set cache_variable = source_meta.get('cache_variable', '') %}
    {% set cache = env_var(cache_variable, '') if cache_variable else '' %}
    {% set directory_variable = source_meta.get('directory_variable', '') %}
    {% set folder = env_var(directory_variable, '') if directory_variable else '' %}
    {% set database_variable = source_meta.get('database_variable', '') %}
    {% set database = env_var(database_variable, '') if database_variable else '' %}
    {% if folder and database and not source_meta.get('folder_wins', false) %}
        {% do exceptions.raise_compiler_error(
            directory_variable ~ ' and ' ~ database_variable
            ~ ' are both set. Name one of them: a folder of files or a DuckDB file.'
        ) %}
    {% endif %}
    {% if file %}
        {% set kind, what = 'file', 'the file' %}
    {% elif cache %}
        {% set kind, what = 'cache', 'the download in' %}
    {% elif folder %}
        {% set kind, what = 'folder', 'the folder' %}
    {% elif database %}
        {% set kind, what = 'database', 'the DuckDB file' %}
    {% elif source_meta.demo and not set_source_variables(source_meta.floor) %}
        {% set kind, what = 'demo', 'the synthetic demo' %}
    {% else %}
        {{ return({'kind': 'absent', 'location': '', 'description': 'nowhere'}) }}
    {% endif %}
    {% set location = absolute_path(file or cache or folder or database or source_meta.demo) %}
    {{ return({'kind': kind, 'location': location, 'description': what ~ ' ' ~ location}) }}
{% endmacro %}


{#- The variables that are set, of all that name a source of the benchmark. -#}
{% macro set_source_variables(floor) %}
    {% set names = [] %}
    {% for meta in floor_source_metas(floor) %}
        {% for name in source_variables(meta) if env_var(name, '') and name not in names %}
            {% do names.append(name) %}
        {% endfor %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{#- The variables that may name a source. -#}
{% macro source_variables(source_meta) %}
    {% set names = [] %}
    {% for key in ('file_variable', 'cache_variable', 'directory_variable', 'database_variable') %}
        {% if source_meta.get(key) %}
            {% do names.append(source_meta[key]) %}
        {% endif %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{#- The settings of each source of a benchmark, once. -#}
{% macro floor_source_metas(floor) %}
    {% set metas = {} %}
    {% for table in graph.sources.values() if table.config.meta.floor == floor %}
        {% do metas.setdefault(table.source_name, table.config.meta) %}
    {% endfor %}
    {{ return(metas.values() | list) }}
{% endmacro %}


{#- A warehouse that was built from the user's data is not built over with the demo because a variable
    is not set in this shell. A build that stopped at its source has built nothing. -#}
{% macro keep_demo_off_real_data(place, source_meta) %}
    {% set builds = builds_relation() %}
    {% if place.kind == 'demo' and adapter.get_relation(builds.database, builds.schema, 'builds') %}
        {% set newest = run_query(
            'select source_kind, source_location from ' ~ builds ~ " where floor = '"
            ~ source_meta.floor
            ~ "' and succeeded is not null order by sequence_number desc limit 1"
        ).rows %}
        {% if newest and newest[0][0] != 'demo' %}
            {% do exceptions.raise_compiler_error(
                'This warehouse holds ' ~ source_meta.floor ~ ' of ' ~ newest[0][1] ~ ', and no source'
                ~ ' is named now, so the synthetic demo would take its place. Name the source ('
                ~ source_variables(source_meta) | join(' or ') ~ '), or build the demo into a file of its own: MEDEVAL_DUCKDB=demo.duckdb.'
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
