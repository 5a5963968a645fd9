{#- The table of the log of builds; what it is, medeval.builds says. -#}
{% macro build_log() %}
    {% set builds = api.Relation.create(
        database=target.get('database'), schema=built_schema('medeval') | trim, identifier='builds'
    ) %}
    {{ return(plugin().build_log(
        run_query, existing_relations, adapter, builds, graph, selected_resources, target, var,
        invocation_id=invocation_id, started_at=run_started_at.strftime('%Y-%m-%dT%H:%M:%SZ'),
        dbt_version=dbt_version
    )) }}
{% endmacro %}


{% macro record_build_start(succeeded) %}
    {% if execute and flags.WHICH in ('build', 'run') %}
        {% do plugin().record_start(build_log(), succeeded) %}
    {% endif %}
    {{ return('') }}
{% endmacro %}


{% macro record_build_end(results) %}
    {% if execute and flags.WHICH in ('build', 'run', 'test')
        and not flags.EMPTY and not flags.SAMPLE %}
        {% set statuses = {} %}
        {% for result in results if result.node.package_name == 'medeval' %}
            {% do statuses.update({result.node.unique_id: result.status | string}) %}
        {% endfor %}
        {% for note in plugin().record_end(build_log(), flags.WHICH, statuses) %}
            {% do log(note, info=true) %}
        {% endfor %}
    {% endif %}
    {{ return('') }}
{% endmacro %}
