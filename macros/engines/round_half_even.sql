{#- A double rounded to a whole number, halves to even. `round` goes away from zero on DuckDB;
    beyond 9e15 a double is a whole number anyway, and the cast would overflow. -#}
{% macro round_half_even(expression) -%}
    case
        when abs({{ expression }}) >= 9e15 then {{ expression }}
        else cast({{ nearest_bigint(expression) }} as {{ type_double() }})
    end
{%- endmacro %}


{#- The whole number that is next to a double, halves to even, as a bigint. -#}
{% macro nearest_bigint(expression) -%}
    {{ return(adapter.dispatch('nearest_bigint', 'medeval')(expression)) }}
{%- endmacro %}


{% macro default__nearest_bigint(expression) -%}
    cast({{ expression }} as bigint)
{%- endmacro %}


{#- Its cast cuts off. -#}
{% macro spark__nearest_bigint(expression) -%}
    cast(rint({{ expression }}) as bigint)
{%- endmacro %}
