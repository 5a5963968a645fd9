{#- A heading as the heading table writes it: lower case, single blanks, nothing at the ends. Most
    are written in printable ASCII with single blanks, and need little; only the others take the
    costly way. Letters beyond ASCII stay as they are, since the table has none. -#}
{% macro folded_heading(column) -%}
    {%- set upper_case = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ' -%}
    {%- set blanks = ' ' * white_space_code_points() | length -%}
    case
        when {{ column }} !~ '([^ -~]|  )' then trim(lower({{ column }}))
        else
            trim(regexp_replace(
                translate(
                    {{ column }},
                    {{ white_space() }} || '{{ upper_case }}',
                    '{{ blanks }}{{ upper_case | lower }}'
                ),
                ' +', ' ', 'g'
            ))
    end
{%- endmacro %}
