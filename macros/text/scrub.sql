{#- A text with the terms of its case's diagnosis replaced by `___`, and line feeds by blanks; the
    latter alone where there is no diagnosis. `patterns` names the case's row of
    `int_cdm__scrub_patterns`, from a left join.

    The reference replaces whole words. The specification lets no term survive, so it replaces them
    within longer words too, and beside an underscore. -#}
{% macro scrubbed(expression, patterns) -%}
    {%- set line = "replace(" ~ expression ~ ", " ~ line_feed() ~ ", ' ')" -%}
    case
        when {{ patterns }}.hadm_id is null then {{ line }}
        -- Laboratory results end here, before anything costly.
        when length({{ expression }}) < {{ patterns }}.shortest_term then {{ line }}
        when position({{ patterns }}.shared_start in {{ folded_case(expression) }}) = 0 then {{ line }}
        when not {{ matches_in_any_case(line, patterns ~ '.term_pattern') }} then {{ line }}
        {% if var('cdm_rules') == 'reference' -%}
        else
            {{ without_marks(replace_all_in_any_case(
                marked_words(line), patterns ~ '.marked_term_pattern', "'___'"
            )) }}
        {% else -%}
        else {{ replace_all_in_any_case(line, patterns ~ '.term_pattern', "'___'") }}
        {% endif -%}
    end
{%- endmacro %}


{#- A text of a laboratory, a culture or an examination's name. The specification scrubs whatever is
    shown of a case; the reference scrubs notes only. -#}
{% macro scrubbed_result(expression, patterns) -%}
    {%- if var('cdm_rules') == 'reference' -%}
        {{ expression }}
    {%- else -%}
        {{ scrubbed(expression, patterns) }}
    {%- endif -%}
{%- endmacro %}
