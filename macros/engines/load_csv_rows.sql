{#- DuckDB reads the files of seeds itself. What comes with it puts their path between quotes as it
    is, so that no seed is loaded in a folder with an apostrophe in its name. -#}
{% macro duckdb__load_csv_rows(model, agate_table) %}
    {% set path = adapter.get_seed_file_path(model) | string | replace("'", "''") %}
    {% set form = "format csv, header true, delimiter '" ~ config.get('delimiter', ',') ~ "'" %}
    {% set sql = 'copy ' ~ this ~ " from '" ~ path ~ "' (" ~ form ~ ')' %}
    {% do adapter.add_query(sql, abridge_sql_log=True) %}
    {{ return(sql) }}
{% endmacro %}
