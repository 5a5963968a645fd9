{#- What follows the first occurrence of a mark on its line, trimmed; missing without the mark.
    Only a line feed ends a line. -#}
{% macro line_after(expression, mark) -%}
    case
        when position({{ mark }} in {{ expression }}) > 0
            then {{ trimmed(
                'split_part(substr(' ~ expression ~ ', position(' ~ mark
                ~ ' in ' ~ expression ~ ') + length(' ~ mark ~ ')), ' ~ line_feed() ~ ', 1)'
            ) }}
    end
{%- endmacro %}
