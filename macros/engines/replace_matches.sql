{#- A text with the first match of a pattern replaced. `\1` in the replacement is the first group.
    -#}
{% macro replace_first(text, pattern, replacement) -%}
    {{ replace_matches(text, pattern, replacement, '') }}
{%- endmacro %}


{#- A text with all matches of a pattern replaced. -#}
{% macro replace_all(text, pattern, replacement) -%}
    {{ replace_matches(text, pattern, replacement, 'g') }}
{%- endmacro %}


{#- The same whatever the case of ASCII letters. -#}
{% macro replace_all_in_any_case(text, pattern, replacement) -%}
    {{ replace_matches(text, pattern, replacement, 'gi') }}
{%- endmacro %}


{#- `flags` as the engines have them: g for all matches, i for any case. -#}
{% macro replace_matches(text, pattern, replacement, flags) -%}
    {{ return(adapter.dispatch('replace_matches', 'medeval')(text, pattern, replacement, flags)) }}
{%- endmacro %}


{% macro default__replace_matches(text, pattern, replacement, flags) -%}
    regexp_replace({{ text }}, {{ pattern }}, {{ replacement }}, '{{ flags }}')
{%- endmacro %}


{#- The case of the database's locale is not that of English everywhere. -#}
{% macro postgres__replace_matches(text, pattern, replacement, flags) -%}
    regexp_replace(({{ text }}) collate "C", {{ pattern }}, {{ replacement }}, '{{ flags }}')
{%- endmacro %}


{#- Spark replaces every match and writes a group as `$1`. For the first match alone the pattern
    takes the whole text, and what stands before the match is its first group. -#}
{% macro spark__replace_matches(text, pattern, replacement, flags) -%}
    {%- set pattern = spark_pattern(pattern, 'i' in flags) -%}
    {%- if 'g' in flags -%}
    regexp_replace(
        {{ text }}, {{ pattern }},
        {{ replacement | replace('\\1', '$1') | replace('\\2', '$2') | replace('\\3', '$3') }}
    )
    {%- else -%}
    regexp_replace(
        {{ text }}, concat('\A([\s\S]*?)(?:', {{ pattern }}, ')(?<rest>[\s\S]*)\z'),
        concat(
            '$1',
            {{ replacement | replace('\\3', '$4') | replace('\\2', '$3') | replace('\\1', '$2') }},
            -- In two, or Spark puts a variable's value in its place.
            '$', '{rest}'
        )
    )
    {%- endif -%}
{%- endmacro %}
