{#- Which rule set builds the CDM benchmark: `specification`, or `reference` for what
    practical_cdm_benchmark does. -#}
{% macro cdm_rules() %}
    {% set rules = var('cdm_rules') %}
    {% if rules not in ('specification', 'reference') %}
        {% do exceptions.raise_compiler_error(
            "The variable cdm_rules is '" ~ rules ~ "'. It can be specification or reference."
        ) %}
    {% endif %}
    {{ return(rules) }}
{% endmacro %}
