{#- A lateral relation of the whole numbers from one to another, a row each; none if the last is
    missing or below the first. It is cross joined: Spark knows no condition of a lateral join. -#}
{% macro whole_numbers(first, last, alias, column) -%}
    {{ return(adapter.dispatch('whole_numbers', 'medeval')(first, last, alias, column)) }}
{%- endmacro %}


{% macro default__whole_numbers(first, last, alias, column) -%}
    generate_series({{ first }}, {{ last }}) as {{ alias }} ({{ column }})
{%- endmacro %}


{#- A sequence to a smaller number would count down. -#}
{% macro spark__whole_numbers(first, last, alias, column) -%}
    lateral (
        select explode(
            case when {{ last }} >= {{ first }} then sequence({{ first }}, {{ last }}) end
        ) as {{ column }}
    ) as {{ alias }}
{%- endmacro %}
