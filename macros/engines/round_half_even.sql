{#- A double rounded to a whole number, halves to even. `round` goes away from zero on DuckDB, the
    cast to bigint goes to even on both; beyond 9e15 a double is a whole number anyway, and the cast
    would overflow. -#}
{% macro round_half_even(expression) -%}
    {{ return(adapter.dispatch('round_half_even', 'medeval')(expression)) }}
{%- endmacro %}


{% macro default__round_half_even(expression) -%}
    case
        when abs({{ expression }}) >= 9e15 then {{ expression }}
        else cast(cast({{ expression }} as bigint) as {{ type_double() }})
    end
{%- endmacro %}
