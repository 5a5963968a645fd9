{#- Does a text read as a number? Blanks at the ends, a sign, digits with an optional point, an
    exponent of at most three digits, or infinity. The engines' own tests disagree (PostgreSQL takes
    `0x10`, DuckDB takes `1_000`), so the pattern decides and the cast follows. A number is 0 or
    between 1e-300 and 1e300 in size: PostgreSQL stops where a double, or a product of it,
    overflows, and DuckDB goes on with infinity or 0. -#}
{% macro is_number(expression) -%}
    {%- set form = "'^ *[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?"
        ~ "|[iI][nN][fF]([iI][nN][iI][tT][yY])?) *$'" -%}
    case
        when {{ matches(expression, form) }}
            then
                case
                    when
                        length({{ expression }}) <= 100
                        and position('e' in {{ expression }}) = 0
                        and position('E' in {{ expression }}) = 0
                        then true
                    when not {{ matches(expression, "'^[^eE]*[1-9]'") }} then true
                    when {{ is_within_double('trim(' ~ expression ~ ')') }}
                        then {{ is_number_in_range(number_from_text(expression)) }}
                    else false
                end
        when {{ expression }} is not null then false
    end
{%- endmacro %}


{#- A text that `is_number` accepts, as a double. -#}
{% macro number_from_text(expression) -%}
    cast(trim({{ expression }}) as {{ type_double() }})
{%- endmacro %}


{#- Is a double that is not 0 one that is read? -#}
{% macro is_number_in_range(number) -%}
    abs({{ number }}) between 1e-300 and 1e300
{%- endmacro %}


{% macro read_double(source_table, column) -%}
    {%- set cell = raw_text(column) -%}
    {%- set types = binary_number_types() -%}
    {%- set number = 'cast(' ~ typed_column(column, types) ~ ' as ' ~ type_double() ~ ')' -%}
    {%- set last_branches = else_missing_or_unreadable(
        source_table, column, 'a number', type_double()
    ) -%}
    {%- set typed -%}
    case
        when
            {{ number }} = 0
            or {{ is_number_in_range(number) }}
            or abs({{ number }}) = cast('infinity' as {{ type_double() }})
            then {{ number }}
        {{ last_branches }}
    end
    {%- endset -%}
    {#- Nearly all cells are of the first form, which PostgreSQL finds in half the time. -#}
    {%- set from_text -%}
    case
        when length({{ cell }}) <= 100 and {{ matches(cell, "'^[0-9]+[.]?[0-9]*$'") }}
            then cast({{ cell }} as {{ type_double() }})
        when {{ is_number(cell) }} then {{ number_from_text(cell) }}
        {{ last_branches }}
    end
    {%- endset -%}
    {{ typed_or_text(column, types, typed, from_text) }}
{%- endmacro %}
