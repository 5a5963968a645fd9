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


{% macro spark__matches(text, pattern) -%}
    ({{ text }} rlike {{ spark_pattern(pattern) }})
{%- endmacro %}


{% macro spark__matches_in_any_case(text, pattern) -%}
    ({{ text }} rlike {{ spark_pattern(pattern, true) }})
{%- endmacro %}


{#- A pattern for Java's engine: a line ends with a line feed only, and `$` is the end of the text
    and not of the line before it. -#}
{% macro spark_pattern(pattern, in_any_case=false) -%}
    {%- set ends = {"$'": "\\z'", '$)': '\\z)', '$|': '\\z|'} -%}
    {%- set changed = namespace(pattern=pattern) -%}
    {%- for end, written in ends.items() -%}
        {%- set changed.pattern = changed.pattern | replace(end, written) -%}
    {%- endfor -%}
    concat('(?{{ 'di' if in_any_case else 'd' }})', {{ changed.pattern }})
{%- endmacro %}
