{#- A text in lower case, letters beyond ASCII included, for what is published. -#}
{% macro lower_case(column) -%}
    {{ return(adapter.dispatch('lower_case', 'medeval')(column)) }}
{%- endmacro %}


{% macro default__lower_case(column) -%}
    lower({{ column }})
{%- endmacro %}


{#- By the locale of the database `lower` leaves letters as they are (in `C`), or makes another one
    of I (in Turkish). So the letters beyond ASCII that have a lower case are written out: those of
    Unicode's blocks with cased letters. The lower case of the I with a dot is two characters, of
    which DuckDB has the first. -#}
{% macro postgres__lower_case(column) -%}
    {%- set blocks = [
        (192, 222), (256, 590), (880, 1366), (4256, 4301), (5024, 5109), (7312, 7359), (7680, 8188),
        (8486, 8579), (9398, 9423), (11264, 11506), (42560, 42997), (65313, 65338), (66560, 66599),
        (66736, 66771), (66928, 66965), (68736, 68786), (71840, 71871), (93760, 93791),
        (125184, 125217)
    ] -%}
    {%- set letters = [] -%}
    {%- for first, last in blocks -%}
        {%- for code_point in range(first, last + 1) -%}
            {%- set letter = '%c' % code_point -%}
            {%- do letters.append(letter) if letter != letter | lower -%}
        {%- endfor -%}
    {%- endfor -%}
    case
        -- Nearly every text is ASCII, and a translation is slow.
        when bit_length({{ column }}) = 8 * length({{ column }}) then {{ ascii_lower(column) }}
        else
            translate(
                {{ ascii_lower(column) }},
                '{{ letters | join }}',
                '{% for letter in letters %}{{ (letter | lower)[0] }}{% endfor %}'
            )
    end
{%- endmacro %}


{#- Java makes two characters of the I with a dot, and another letter of a sigma that ends a word.
    -#}
{% macro spark__lower_case(column) -%}
    lower(translate(
        {{ column }}, {{ text_of_code_points([304, 931]) }}, {{ text_of_code_points([105, 963]) }}
    ))
{%- endmacro %}
