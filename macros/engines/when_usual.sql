{#- The first branch of the `case` that reads a cell: the form that nearly all cells have. What is
    not in it is looked at by the branches that follow, so engines may differ in which texts those
    are, and not in what is read.

    DuckDB: a text is of that form if it is what the engine prints for the value that it reads
    there, which takes half the time of a pattern. The engine prints `-5`, `infinity` and years of
    five digits too, so the values have bounds. -#}
{% macro when_usual(cell, type, least, most, form) -%}
    {{ return(adapter.dispatch('when_usual', 'medeval')(cell, type, least, most, form)) }}
{%- endmacro %}


{% macro default__when_usual(cell, type, least, most, form) -%}
    when {{ form }} then cast({{ cell }} as {{ type }})
{%- endmacro %}


{% macro duckdb__when_usual(cell, type, least, most, form) -%}
    {%- set value = 'try_cast(' ~ cell ~ ' as ' ~ type ~ ')' -%}
    when
            {{ value }} between {{ least }} and {{ most }}
            and cast({{ value }} as {{ dbt.type_string() }}) = {{ cell }}
            then {{ value }}
{%- endmacro %}
