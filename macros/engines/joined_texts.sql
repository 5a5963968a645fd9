{#- The texts of a group as one, in the given order, with a separator between them. -#}
{% macro joined_texts(text, separator, order_by) -%}
    {{ return(adapter.dispatch('joined_texts', 'medeval')(text, separator, order_by)) }}
{%- endmacro %}


{% macro default__joined_texts(text, separator, order_by) -%}
    string_agg({{ text }}, {{ separator }} order by {{ order_by }})
{%- endmacro %}


{#- The different texts of a group as one, in byte order. -#}
{% macro joined_different_texts(text, separator) -%}
    {{ return(adapter.dispatch('joined_different_texts', 'medeval')(text, separator)) }}
{%- endmacro %}


{% macro default__joined_different_texts(text, separator) -%}
    string_agg(distinct {{ text_order(text) }}, {{ separator }} order by {{ text_order(text) }})
{%- endmacro %}


{#- Texts are in byte order on Spark as they are. -#}
{% macro spark__joined_texts(text, separator, order_by) -%}
    listagg({{ text }}, {{ separator }}) within group (order by {{ order_by }})
{%- endmacro %}


{#- `listagg(distinct ...)` with an order stops Spark. -#}
{% macro spark__joined_different_texts(text, separator) -%}
    case
        when count({{ text }}) > 0
            then array_join(array_sort(collect_set({{ text }})), {{ separator }})
    end
{%- endmacro %}
