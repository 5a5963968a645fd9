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


{% macro absolute_path(path) %}
    {{ return(run_query("select medeval_absolute_path('" ~ sql_text(path) ~ "')").rows[0][0]) }}
{% endmacro %}


{#- The inside of a SQL text literal. -#}
{% macro sql_text(value) %}
    {{ return(value | replace("'", "''")) }}
{% endmacro %}
