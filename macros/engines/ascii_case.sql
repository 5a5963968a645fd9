{#- A text whose ASCII letters are in lower case, whatever the locale: in Turkish `lower('I')` is
    no `i`. For texts of ASCII, and where only ASCII is looked at: the engines may fold other
    letters too. -#}
{% macro ascii_lower(text) -%}
    {{ return(adapter.dispatch('ascii_lower', 'medeval')(text)) }}
{%- endmacro %}


{% macro default__ascii_lower(text) -%}
    lower({{ text }})
{%- endmacro %}


{% macro postgres__ascii_lower(text) -%}
    lower(({{ text }}) collate "C")
{%- endmacro %}


{#- The same in upper case. -#}
{% macro ascii_upper(text) -%}
    {{ return(adapter.dispatch('ascii_upper', 'medeval')(text)) }}
{%- endmacro %}


{% macro default__ascii_upper(text) -%}
    upper({{ text }})
{%- endmacro %}


{% macro postgres__ascii_upper(text) -%}
    upper(({{ text }}) collate "C")
{%- endmacro %}
