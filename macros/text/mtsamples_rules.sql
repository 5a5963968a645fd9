{#- The rules by which a note becomes an example. A change of what is extracted is a new version. -#}
{% macro mtsamples_rule_version() %}
    {{ return('1') }}
{% endmacro %}


{#- Which header ends the input: `helm` takes the earliest of all; `medarc`, for comparisons only, the
    first one of the first section in order, so that findings before a plan stay in the input. -#}
{% macro mtsamples_truncation() %}
    {% set truncation = var('mtsamples_truncation') %}
    {% if truncation not in ('helm', 'medarc') %}
        {% do exceptions.raise_compiler_error(
            "The variable mtsamples_truncation is '" ~ truncation ~ "'. It can be helm or medarc."
        ) %}
    {% endif %}
    {{ return(truncation) }}
{% endmacro %}


{#- What follows the first occurrence of a mark on its line, trimmed; missing without the mark. Only a
    line feed ends a line. -#}
{% macro line_after(expression, mark) -%}
    case
        when strpos({{ expression }}, {{ mark }}) > 0
            then {{ trimmed(
                'split_part(substr(' ~ expression ~ ', strpos(' ~ expression ~ ', ' ~ mark
                ~ ') + length(' ~ mark ~ ')), chr(10), 1)'
            ) }}
    end
{%- endmacro %}
