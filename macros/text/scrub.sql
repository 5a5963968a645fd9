{#- A text with the terms of its case's diagnosis replaced by `___`, and line feeds by blanks; the
    latter alone where there is no diagnosis. `patterns` names the case's row of
    `int_cdm__scrub_patterns`, from a left join.

    The reference replaces whole words. The specification lets no term survive, so it replaces them
    within longer words too, and beside an underscore. -#}
{% macro scrubbed(expression, patterns) -%}
    {%- set line = "replace(" ~ expression ~ ", chr(10), ' ')" -%}
    case
        when {{ patterns }}.hadm_id is null then {{ line }}
        -- Laboratory results end here, before anything costly.
        when length({{ expression }}) < {{ patterns }}.shortest_term then {{ line }}
        when strpos({{ folded_case(expression) }}, {{ patterns }}.shared_start) = 0 then {{ line }}
        when {{ line }} !~* {{ patterns }}.term_pattern then {{ line }}
        {% if cdm_rules() == 'reference' -%}
        else
            {{ without_marks(
                "regexp_replace(" ~ marked_words(line) ~ ", " ~ patterns
                ~ ".marked_term_pattern, '___', 'gi')"
            ) }}
        {% else -%}
        else regexp_replace({{ line }}, {{ patterns }}.term_pattern, '___', 'gi')
        {% endif -%}
    end
{%- endmacro %}


{#- Terms of the seed as a pattern for any case; they are of ASCII letters and blanks. -#}
{% macro term_pattern(column) -%}
    replace(replace(replace(
        {{ column }},
        'i', '{{ any_case("i") }}'), 'k', '{{ any_case("k") }}'), 's', '{{ any_case("s") }}'
    )
{%- endmacro %}
