{#- What follows the first occurrence of a mark on its line, trimmed; missing without the mark.
    Only a line feed ends a line. -#}
{% macro line_after(expression, mark) -%}
    case
        when strpos({{ expression }}, {{ mark }}) > 0
            then {{ trimmed(
                'split_part(substr(' ~ expression ~ ', strpos(' ~ expression ~ ', ' ~ mark
                ~ ') + length(' ~ mark ~ ')), ' ~ line_feed() ~ ', 1)'
            ) }}
    end
{%- endmacro %}
