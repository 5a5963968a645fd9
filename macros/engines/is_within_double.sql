{#- Can a text that looks like a number be cast to a double? PostgreSQL stops where it is too large,
    or too small and not 0; DuckDB casts any. -#}
{% macro is_within_double(text) -%}
    {{ return(adapter.dispatch('is_within_double', 'medeval')(text)) }}
{%- endmacro %}


{% macro default__is_within_double(text) -%}
    true
{%- endmacro %}


{#- A numeric has at most 16,383 digits behind the point. -#}
{% macro postgres__is_within_double(text) -%}
    case
        when length({{ text }}) < 10000
            then abs(cast({{ text }} as numeric)) between 1e-305 and 1e305
        else false
    end
{%- endmacro %}
