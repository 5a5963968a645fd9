{#- What SQL cannot do: the functions that the Python package `medeval` gives to dbt. -#}
{% macro plugin() %}
    {% if modules.medeval is not defined %}
        {% do exceptions.raise_compiler_error(
            'The Python package medeval is not installed where dbt runs: `pip install -e` the folder'
            ~ ' of this project.'
        ) %}
    {% endif %}
    {{ return(modules.medeval) }}
{% endmacro %}
