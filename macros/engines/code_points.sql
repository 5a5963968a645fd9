{#- A text of characters, from their code points. -#}
{% macro text_of_code_points(code_points) -%}
    {{ return(adapter.dispatch('text_of_code_points', 'medeval')(code_points)) }}
{%- endmacro %}


{% macro default__text_of_code_points(code_points) -%}
    {{- '(' if code_points | length > 1 -}}
    {%- for code_point in code_points -%}
        chr({{ code_point }}){{ ' || ' if not loop.last }}
    {%- endfor -%}
    {{- ')' if code_points | length > 1 -}}
{%- endmacro %}


{#- `chr` takes the number of a byte on Spark, so that the characters themselves stand in the text.
    -#}
{% macro spark__text_of_code_points(code_points) -%}
    '{% for code_point in code_points -%}
        {{- "''" if code_point == 39 else '%c' % code_point -}}
    {%- endfor %}'
{%- endmacro %}
