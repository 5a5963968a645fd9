{#- Where the sections of discharge notes come from: provided, derived or auto. -#}
{% macro cdm_extract_choice() %}
    {{ return(var('cdm_extract_source')) }}
{% endmacro %}
