{#- Columns that make one row of each place of some lists, for the list of a `select`. `lists` has
    for each name of a column its expressions, as many in every list. -#}
{% macro one_row_each(lists) -%}
    {{ return(adapter.dispatch('one_row_each', 'medeval')(lists)) }}
{%- endmacro %}


{% macro default__one_row_each(lists) -%}
    {%- for column, expressions in lists.items() -%}
        unnest(array[{{ expressions | join(', ') }}]) as {{ column }}
        {{- ',\n        ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{% macro spark__one_row_each(lists) -%}
    inline(arrays_zip(
        {%- for expressions in lists.values() -%}
            array({{ expressions | join(', ') }}){{ ', ' if not loop.last }}
        {%- endfor -%}
    )) as ({{ lists | join(', ') }})
{%- endmacro %}
