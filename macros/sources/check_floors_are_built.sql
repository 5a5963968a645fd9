{#- Before `dbt test`: stop where a selected test reads tables that no build has made. dbt would count
    each of them as an error of its own. -#}
{% macro check_floors_are_built() %}
    {% if not execute or flags.WHICH != 'test' %}
        {{ return('') }}
    {% endif %}
    {% set built = {} %}
    {% for row in run_query('select table_schema, table_name from information_schema.tables').rows %}
        {% do built.update({row[0] ~ '.' ~ row[1]: true}) %}
    {% endfor %}
    {% set floors = {} %}
    {% for unique_id in selected_resources %}
        {% for parent in parents_of(unique_id) if parent in graph.nodes %}
            {% set node = graph.nodes[parent] %}
            {% if node.resource_type in ('model', 'seed') and node.config.materialized != 'ephemeral' %}
                {% set is_built = (node.schema ~ '.' ~ (node.alias or node.name)) in built %}
                {% do floors.setdefault(node.fqn[1], []).append(is_built) %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {% set missing = [] %}
    {% set whole = [] %}
    {% for floor, are_built in floors.items() %}
        {% do (whole if are_built | min else missing).append(floor) %}
    {% endfor %}
    {% if missing %}
        {% do exceptions.raise_compiler_error(
            'The tests of ' ~ missing | sort | join(' and ') ~ ' read tables that were never built:'
            ~ ' run `dbt build --select ' ~ missing | sort | join(' ') ~ '`'
            ~ (', or test only what is built: `dbt test --select ' ~ whole | sort | join(' ') ~ '`'
                if whole else '') ~ '.'
        ) %}
    {% endif %}
    {{ return('') }}
{% endmacro %}
