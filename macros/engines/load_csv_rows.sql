{#- dbt's own puts texts between quotes as they are, and a quote within one ends it. Columns are
    cast, since Spark takes long to read a cast of each cell. -#}
{% macro spark__load_csv_rows(model, agate_table) %}
    {% set types = model.config.get('column_types', {}) %}
    {% set statements = [] %}
    {% for chunk in agate_table.rows | batch(5000) %}
        {% set statement %}
            insert into {{ this.render() }}
            select
            {% for name in agate_table.column_names -%}
                {%- set type = types.get(name, adapter.convert_type(agate_table, loop.index0)) -%}
                cast(col{{ loop.index }} as {{ type }}){{ ', ' if not loop.last }}
            {% endfor %}
            from values
            {% for row in chunk -%}
            (
                {%- for cell in row -%}
                {{- 'null' if cell is none else "'" ~ cell | string | replace("'", "''") ~ "'" -}}
                {{ ', ' if not loop.last }}
                {%- endfor -%}
            ){{ ', ' if not loop.last }}
            {%- endfor %}
        {% endset %}
        {% do adapter.add_query(statement, abridge_sql_log=True) %}
        {% do statements.append(statement) if not statements %}
    {% endfor %}
    {{ return(statements[0]) }}
{% endmacro %}

{#- DuckDB reads the files of seeds itself. What comes with it puts their path between quotes as it
    is, so that no seed is loaded in a folder with an apostrophe in its name. -#}
{% macro duckdb__load_csv_rows(model, agate_table) %}
    {% set path = adapter.get_seed_file_path(model) | string | replace("'", "''") %}
    {% set form = "format csv, header true, delimiter '" ~ config.get('delimiter', ',') ~ "'" %}
    {% set sql = 'copy ' ~ this ~ " from '" ~ path ~ "' (" ~ form ~ ')' %}
    {% do adapter.add_query(sql, abridge_sql_log=True) %}
    {{ return(sql) }}
{% endmacro %}
