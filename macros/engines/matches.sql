{#- Whether a pattern is found anywhere in a text. Patterns are written so that all engines read
    them alike: no classes such as `\w`, no boundaries, no lookaround. -#}
{% macro matches(text, pattern) -%}
    {{ return(adapter.dispatch('matches', 'medeval')(text, pattern)) }}
{%- endmacro %}


{% macro default__matches(text, pattern) -%}
    ({{ text }} ~ ({{ pattern }}))
{%- endmacro %}


{% macro postgres__matches(text, pattern) -%}
    (({{ text }}) collate "C" ~ ({{ pattern }}))
{%- endmacro %}


{#- The same whatever the case of ASCII letters. -#}
{% macro matches_in_any_case(text, pattern) -%}
    {{ return(adapter.dispatch('matches_in_any_case', 'medeval')(text, pattern)) }}
{%- endmacro %}


{% macro default__matches_in_any_case(text, pattern) -%}
    ({{ text }} ~* ({{ pattern }}))
{%- endmacro %}


{#- The case of the database's locale is not that of English everywhere. -#}
{% macro postgres__matches_in_any_case(text, pattern) -%}
    (({{ text }}) collate "C" ~* ({{ pattern }}))
{%- endmacro %}
