{#- A text in which keywords of whole words can be found without patterns. The shadow is put in
    capitals, and a mark stands before each word, and another one behind each word and behind each
    sign with no word after it. In a text and a keyword treated alike, "PORT." is then found in
    "PORT. CHEST" but not in "PORT.5", and "US" not in "PUS". A keyword without the mark at its end
    finds what begins with it. -#}
{% macro searchable(shadow) -%}
    {%- set in_capitals -%}
        translate(
            {{ shadow }},
            'abcdefghijklmnopqrstuvwxyz' || {{ word_start() }} || {{ word_end() }},
            'ABCDEFGHIJKLMNOPQRSTUVWXYZ??'
        )
    {%- endset -%}
    replace(
        {{ replace_all(
            replace_all(in_capitals, "'([^0-9A-Z_])'", "'\\1' || " ~ word_end()),
            "'([0-9A-Z_]+)'", word_start() ~ " || '\\1' || " ~ word_end()
        ) }},
        {{ word_end() }} || {{ word_start() }}, {{ word_start() }}
    )
{%- endmacro %}
