{#- What a row holds as a hash: the same on every engine, nothing is not an empty text, and no cell
    runs into the next. -#}
{% macro row_md5(cells) -%}
    md5(concat(
    {%- for cell in cells %}
        coalesce(md5(cast({{ cell }} as {{ dbt.type_string() }})), '-')
        {%- if not loop.last %}, {% endif %}
    {%- endfor %}
    ))
{%- endmacro %}


{#- A number as a text that is the same on every engine: six places, which a double holds exactly
    enough below 1e9. What is beyond is told from all such numbers. -#}
{% macro number_cell(expression) -%}
    case
        when {{ expression }} is null then null
        when abs({{ expression }}) < 1e9
            then cast(cast({{ expression }} as numeric(38, 6)) as {{ dbt.type_string() }})
        else 'out of range'
    end
{%- endmacro %}
