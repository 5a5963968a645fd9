{#- The benchmark's tolerance in hours at the edges of a window. -#}
{% macro mimic3_epsilon() -%}
    1e-6
{%- endmacro %}
