{#- Staging reads a cell of a source by a macro `read_...`. A cell that cannot be read stops the
    build with `cannot read <source>.<table>.<column> ...`; `explain_unreadable_cells` then finds
    its row with the same `is_...` macro. The pattern of a text decides and the cast follows, since
    the engines' casts differ in what else they take. -#}

{% macro raw_text(column) -%}
    cast({{ column }} as {{ dbt.type_string() }})
{%- endmacro %}


{#- The last branches of the `case` that reads a cell. The message shows nothing of the cell. It
    depends on the cell, since an engine may evaluate a constant before there is a row. -#}
{% macro else_missing_or_unreadable(source_table, column, expected, type) -%}
    {%- set message = "concat('cannot read " ~ source_table ~ "." ~ column ~ " as " ~ expected
        ~ "', left(" ~ raw_text(column) ~ ", 0))" -%}
    when {{ column }} is null or {{ raw_text(column) }} in {{ missing_texts(source_table) }} then null
        else {{ stop_with(message, type) }}
{%- endmacro %}
