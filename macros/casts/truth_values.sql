{% macro is_truth_value(cell) -%}
    {{ ascii_lower('trim(' ~ cell ~ ')') }} in ('t', 'true', '1', 'f', 'false', '0')
{%- endmacro %}


{% macro read_boolean(source_table, column) -%}
    {%- set cell = raw_text(column) -%}
    case
        when {{ ascii_lower('trim(' ~ cell ~ ')') }} in ('t', 'true', '1') then true
        when {{ ascii_lower('trim(' ~ cell ~ ')') }} in ('f', 'false', '0') then false
        {{ else_missing_or_unreadable(source_table, column, 'true or false', 'boolean') }}
    end
{%- endmacro %}
