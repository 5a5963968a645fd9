{#- An expression for a column of one of some types, and another for a column of any other type,
    which is read as text. What a number prints as depends on a setting of the server, the database
    and the role (`extra_float_digits`), so a column that has a type already is not printed. On
    DuckDB each column of a source is text (`lay_sources`), and the print of a double reads back as
    that double. -#}
{% macro typed_or_text(column, types, typed, from_text) -%}
    {{ return(
        adapter.dispatch('typed_or_text', 'medeval')(column, types, typed, from_text)
    ) }}
{%- endmacro %}


{% macro default__typed_or_text(column, types, typed, from_text) -%}
    {{ from_text }}
{%- endmacro %}


{#- Asked of each row and not of the catalogue: it also holds before there is a source, and where a
    unit test stands in for it. -#}
{% macro postgres__typed_or_text(column, types, typed, from_text) -%}
    case
        when {{ medeval.postgres_has_type(column, types) }} then {{ typed }}
        else {{ from_text }}
    end
{%- endmacro %}


{#- The column within the first expression of `typed_or_text`. -#}
{% macro typed_column(column, types) -%}
    {{ return(adapter.dispatch('typed_column', 'medeval')(column, types)) }}
{%- endmacro %}


{% macro default__typed_column(column, types) -%}
    {{ column }}
{%- endmacro %}


{#- PostgreSQL casts a constant text before it knows that the branch is not taken; this is none. -#}
{% macro postgres__typed_column(column, types) -%}
    case when {{ medeval.postgres_has_type(column, types) }} then {{ column }} end
{%- endmacro %}


{% macro postgres_has_type(column, types) -%}
    pg_typeof({{ column }}) in (
        {%- for type in types -%}
        cast('{{ type }}' as regtype){{ ', ' if not loop.last }}
        {%- endfor -%}
    )
{%- endmacro %}


{#- The types of whole and of floating-point numbers. `numeric` is not among them: it prints
    exactly. -#}
{% macro binary_number_types() %}
    {{ return(['smallint', 'integer', 'bigint', 'real', 'double precision']) }}
{% endmacro %}
