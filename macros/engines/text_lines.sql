{#- The lines of a text as an array, and texts from it. -#}
{% macro lines_of(text) -%}
    {{ return(adapter.dispatch('lines_of', 'medeval')(text)) }}
{%- endmacro %}


{% macro default__lines_of(text) -%}
    string_to_array({{ text }}, {{ line_feed() }})
{%- endmacro %}


{#- The line of a number, from 1. -#}
{% macro line_at(lines, number) -%}
    {{ return(adapter.dispatch('line_at', 'medeval')(lines, number)) }}
{%- endmacro %}


{% macro default__line_at(lines, number) -%}
    {{ lines }}[{{ number }}]
{%- endmacro %}


{#- The lines from one number to another as a text; both belong to it. -#}
{% macro lines_between(lines, first, last) -%}
    {{ return(adapter.dispatch('lines_between', 'medeval')(lines, first, last)) }}
{%- endmacro %}


{% macro default__lines_between(lines, first, last) -%}
    array_to_string({{ lines }}[{{ first }}:{{ last }}], {{ line_feed() }})
{%- endmacro %}


{% macro spark__lines_of(text) -%}
    split({{ text }}, {{ line_feed() }}, -1)
{%- endmacro %}


{#- Spark counts from 0 here; a line that is not there is null. -#}
{% macro spark__line_at(lines, number) -%}
    get({{ lines }}, cast({{ number }} - 1 as integer))
{%- endmacro %}


{% macro spark__lines_between(lines, first, last) -%}
    array_join(
        slice(
            {{ lines }}, cast({{ first }} as integer),
            cast(greatest(({{ last }}) - ({{ first }}) + 1, 0) as integer)
        ),
        {{ line_feed() }}
    )
{%- endmacro %}
