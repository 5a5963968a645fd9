{#- A text of the same length in ASCII, to search in; what is found there is cut from the original
    by its length. ASCII patterns mean the same on all engines.

    - White space other than a line feed is a blank.
    - The four letters that are case variants of i, k and s are these letters.
    - Other letters beyond ASCII are `Q` in upper case, and `q` in lower or title case: no keyword
      holds that letter. Digits are `0`, and the other word characters `_`.
    - Any other sign beyond ASCII is `?`.

    Nearly every text is ASCII, and is only relieved of tabs and their like. The expression is named
    several times, so it must be a column. -#}
{% macro shadow(column) -%}
    {%- set white_space = white_space_code_points() | reject('in', [10, 32]) | list -%}
    {%- set white_space_of_ascii = white_space | select('lt', 128) | list -%}
    {%- set ascii -%}
        ' || {{ text_of_code_points([1]) }} || '-' || {{ text_of_code_points([127]) }} || '
    {%- endset -%}
    {%- set shadowed = namespace() -%}
    {%- set shadowed.text -%}
        translate(
            {{ column }},
            {{ text_of_code_points(white_space + case_variants() | list) }},
            '{{ ' ' * white_space | length }}{{ case_variants().values() | join }}'
        )
    {%- endset -%}
    {%- for class, sign in [
        ('[' ~ upper_case_beyond_ascii() ~ ']', 'Q'),
        ('[' ~ lower_case_beyond_ascii() ~ ']', 'q'),
        ('[' ~ digits_beyond_ascii() ~ ']', '0'),
        ('[' ~ word_characters_beyond_ascii() ~ ']', '_'),
        ('[^' ~ ascii ~ ']', '?'),
    ] -%}
        {%- set shadowed.text = replace_all(shadowed.text, "'" ~ class ~ "'", "'" ~ sign ~ "'") -%}
    {%- endfor -%}
    case
        when bit_length({{ column }}) = 8 * length({{ column }})
            then {{ with_replaced(column, dict.fromkeys(white_space_of_ascii, ' ')) }}
        else {{ shadowed.text }}
    end
{%- endmacro %}


{#- A text with line feeds in place of all white space but plain blanks. -#}
{% macro with_line_feeds(expression) -%}
    {%- set code_points = white_space_code_points() | reject('equalto', 32) | list -%}
    translate(
        {{ expression }},
        {{ text_of_code_points(code_points) }},
        repeat({{ line_feed() }}, {{ code_points | length }})
    )
{%- endmacro %}
