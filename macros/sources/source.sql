{#- dbt's own, but in a preview (`dbt show`), before which no hook has laid a view: there a source
    is read where it lies, and nothing is written. -#}
{% macro source(source_name, table_name) %}
    {% set relation = builtins.source(source_name, table_name) %}
    {% if execute and flags.WHICH == 'show' %}
        {% set table = graph.sources['source.medeval.' ~ source_name ~ '.' ~ table_name] %}
        {% if table.config.meta.holds != 'published' %}
            {{ return(adapter.dispatch('previewed_source', 'medeval')(table, relation)) }}
        {% endif %}
    {% endif %}
    {{ return(relation) }}
{% endmacro %}


{% macro default__previewed_source(table, relation) %}
    {{ return('(' ~ source_views([table]).queries[table.name] ~ ')') }}
{% endmacro %}


{% macro postgres__previewed_source(table, relation) %}
    {{ return(previewed_table(table, relation, postgres_columns(table.schema))) }}
{% endmacro %}


{% macro spark__previewed_source(table, relation) %}
    {% if plugin().is_source_named([table], graph) %}
        {{ return('(' ~ spark_source_views([table]).queries[table.name] ~ ')') }}
    {% endif %}
    {{ return(previewed_table(table, relation, plugin().spark_columns(run_query, table.schema))) }}
{% endmacro %}


{% macro previewed_table(table, relation, there) %}
    {% if plugin().is_empty_by_default(table, there, plugin().database_of(target)) %}
        {{ return('(' ~ plugin().empty_query(table) ~ ') as ' ~ table.name) }}
    {% endif %}
    {{ return(relation) }}
{% endmacro %}
