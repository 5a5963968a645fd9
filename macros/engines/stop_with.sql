{#- An expression that stops the statement with a message (a SQL text expression), and that
    otherwise has the given type. It stands in the last branch of a `case`, so it is evaluated only
    for the row that cannot be used. The mark in front lets the message through where nothing else
    that an engine says of data is shown (`medeval.warehouse`): so it names places and kinds,
    and holds no cell. -#}
{% macro stop_with(message, type) -%}
    {{ return(
        adapter.dispatch('stop_with', 'medeval')("concat('medeval: ', " ~ message ~ ')', type)
    ) }}
{%- endmacro %}


{% macro default__stop_with(message, type) -%}
    cast(error({{ message }}) as {{ type }})
{%- endmacro %}


{#- PostgreSQL has no function that raises; a cast that cannot succeed shows its text. -#}
{% macro postgres__stop_with(message, type) -%}
    cast(cast(cast({{ message }} as integer) as text) as {{ type }})
{%- endmacro %}


{% macro spark__stop_with(message, type) -%}
    cast(raise_error({{ message }}) as {{ type }})
{%- endmacro %}
