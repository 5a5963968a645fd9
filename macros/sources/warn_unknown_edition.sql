{#- After a build: row counts can only be checked for an edition whose counts are known. Says so
    once where the source is of none. -#}
{% macro warn_unknown_edition(results) %}
    {% for result in results if result.node.name == 'mimic3_source_tables' and execute %}
        {% if result.node.resource_type == 'model' and result.status == 'success' %}
            {% set known = run_query(
                'select count(edition) from ' ~ result.node.relation_name
            ).rows[0][0] %}
            {% if not known %}
                {% do exceptions.warn(
                    'The row counts of this MIMIC-III are those of no known edition, so a table'
                    ~ ' cut at a line end would not be seen. They are in mimic3_source_tables.'
                ) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {{ return('') }}
{% endmacro %}
