{#- Whole words without the boundary signs of patterns, which every engine reads in its own way: one
    character stands before and another behind each word, in the text and in what is searched for.

    The marks are control characters. Those that the text holds itself are written as an escape and
    a sign, which is no word character, so that `without_marks` gives them back. -#}

{#- Stands before a word. -#}
{% macro word_start() -%} {{ text_of_code_points([1]) }} {%- endmacro %}


{#- Stands behind a word. -#}
{% macro word_end() -%} {{ text_of_code_points([2]) }} {%- endmacro %}


{#- Stands before the sign of a mark that the text holds itself. -#}
{% macro word_escape() -%} {{ text_of_code_points([3]) }} {%- endmacro %}


{#- A text with its words marked. -#}
{% macro marked_words(expression) -%}
    {%- set escaped -%}
        replace(replace(replace(
            {{ expression }},
            {{ word_escape() }}, {{ word_escape() }} || '!'),
            {{ word_start() }}, {{ word_escape() }} || '('),
            {{ word_end() }}, {{ word_escape() }} || ')'
        )
    {%- endset -%}
    {{ replace_all(
        escaped, "'([" ~ word_characters() ~ "]+)'", word_start() ~ " || '\\1' || " ~ word_end()
    ) }}
{%- endmacro %}


{#- A marked text as it was. -#}
{% macro without_marks(expression) -%}
    replace(replace(replace(
        translate({{ expression }}, {{ word_start() }} || {{ word_end() }}, ''),
        {{ word_escape() }} || ')', {{ word_end() }}),
        {{ word_escape() }} || '(', {{ word_start() }}),
        {{ word_escape() }} || '!', {{ word_escape() }}
    )
{%- endmacro %}
