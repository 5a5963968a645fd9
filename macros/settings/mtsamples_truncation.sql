{#- Which header ends the input: `helm` takes the earliest of all; `medarc`, for comparisons only,
    the first one of the first section in order, so that findings before a plan stay in the input.
    -#}
{% macro mtsamples_truncation() %}
    {% set truncation = var('mtsamples_truncation') %}
    {% if truncation not in ('helm', 'medarc') %}
        {% do exceptions.raise_compiler_error(
            "The variable mtsamples_truncation is '" ~ truncation ~ "'. It can be helm or medarc."
        ) %}
    {% endif %}
    {{ return(truncation) }}
{% endmacro %}
