{#- A model on DuckDB. dbt's own way is that of all engines: make a second relation, rename both,
    drop the old one. These are four statements more for each model, which take longer than most
    models do. DuckDB undoes what changes tables and views as it undoes rows: where a model fails,
    the old one is there. -#}
{% materialization table, adapter='duckdb' %}
    {{ return(replace_relation('table')) }}
{% endmaterialization %}


{% materialization view, adapter='duckdb' %}
    {{ return(replace_relation('view')) }}
{% endmaterialization %}


{% macro replace_relation(type) %}
    {%- set existing = load_cached_relation(this) -%}
    {%- set relation = this.incorporate(type=type) -%}
    {{ run_hooks(pre_hooks) }}
    {% if existing is not none and existing.type != type %}
        {% do adapter.drop_relation(existing) %}
        {%- set existing = none -%}
    {% endif %}
    {% call statement('main') %}
        {{ 'drop ' ~ type ~ ' ' ~ relation ~ ';' if existing is not none }}
        {{ create_table_as(false, relation, compiled_code) if type == 'table'
            else create_view_as(relation, compiled_code) }}
    {% endcall %}
    {{ run_hooks(post_hooks) }}
    {% do adapter.commit() %}
    {{ return({'relations': [relation]}) }}
{% endmacro %}
