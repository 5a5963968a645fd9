{#- The rows of a seed while a model is compiled, for what must stand in its text: patterns, lists
    of columns. The model depends on the seed; a unit test of it needs none of its rows. Before the
    first build there are none: a model can be compiled then, and not run. -#}
{% macro seed_rows(seed, columns, order_by) %}
    {% if not execute %}
        {% do ref(seed) %}
        {{ return([]) }}
    {% endif %}
    {#- A floor's seeds are in the schema of its models. -#}
    {% set relation = adapter.get_relation(model.database, model.schema, seed) %}
    {% if relation is none %}
        {% if flags.WHICH in ('compile', 'generate') %}
            {{ return([]) }}
        {% endif %}
        {% do exceptions.raise_compiler_error(
            'The seed ' ~ seed ~ ' is not built. Build it first: `dbt seed --select ' ~ seed ~ '`.'
        ) %}
    {% endif %}
    {{ return(run_query(
        'select ' ~ columns | join(', ') ~ ' from ' ~ relation ~ ' order by ' ~ order_by
    ).rows) }}
{% endmacro %}
