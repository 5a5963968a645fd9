{#- Whole words without the boundary signs of patterns, which every engine reads in its own way: one
    character stands before and another behind each word, in the text and in what is searched for.

    The marks are control characters. Those that the text holds itself are written as an escape and
    a sign, which is no word character, so that `without_marks` gives them back. -#}

{% macro word_start() -%} chr(1) {%- endmacro %}


{% macro word_end() -%} chr(2) {%- endmacro %}


{#- A text with its words marked. -#}
{% macro marked_words(expression) -%}
    regexp_replace(
        replace(replace(replace(
            {{ expression }},
            chr(3), chr(3) || '!'), chr(1), chr(3) || '('), chr(2), chr(3) || ')'
        ),
        '([{{ word_characters() }}]+)', {{ word_start() }} || '\1' || {{ word_end() }}, 'g'
    )
{%- endmacro %}


{#- A marked text as it was. -#}
{% macro without_marks(expression) -%}
    replace(replace(replace(
        translate({{ expression }}, {{ word_start() }} || {{ word_end() }}, ''),
        chr(3) || ')', chr(2)), chr(3) || '(', chr(1)), chr(3) || '!', chr(3)
    )
{%- endmacro %}
