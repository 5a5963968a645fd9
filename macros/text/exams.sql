{#- A pattern for lower-case shadows of exams from a shorter notation: `~` is a sign of white space,
    `<` what stands before a word (a group, so that a replacement can give it back), and `>` what
    stands behind one. -#}
{% macro shadow_pattern(notation) -%}
    {{ notation
        | replace('~', '[ \\n]')
        | replace('<', '(^|[^0-9a-z_])')
        | replace('>', '($|[^0-9a-z_])') }}
{%- endmacro %}


{#- A shadow without what begins at a pattern, nor the white space before it. The pattern, in the
    notation, has what stands before the cut as its first group. The other arguments are texts of
    which each match holds one: an exam without any is left alone, since patterns are costly. -#}
{% macro cut_from(notation) -%}
    case
        when {% for guard in varargs %}position('{{ guard }}' in shadow) = 0
            {{- ' and ' if not loop.last }}{% endfor %} then shadow
        else {{ without_end_space(
            replace_first('shadow', "'(?s)" ~ shadow_pattern(notation) ~ ".*'", "'\\1'")
        ) }}
    end
{%- endmacro %}


{#- A shadow without the white space at its end. -#}
{% macro without_end_space(expression) -%}
    trim(trailing ' ' || {{ line_feed() }} from {{ expression }})
{%- endmacro %}
