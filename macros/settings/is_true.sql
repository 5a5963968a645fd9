{#- A variable that is true or false, also where it is written as a text. -#}
{% macro is_true(variable) %}
    {{ return(var(variable) | string | lower == 'true') }}
{% endmacro %}
