{#- Schemas are called `mimic3`, `cdm`, ... and not `<target schema>_mimic3`. A server that already
    has a schema of that name sets MEDEVAL_SCHEMA_PREFIX. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {%- if custom_schema_name is none -%}
        {{ target.schema }}
    {%- else -%}
        {{ built_schema(custom_schema_name | trim) }}
    {%- endif -%}
{%- endmacro %}


{% macro built_schema(name) -%}
    {{ env_var('MEDEVAL_SCHEMA_PREFIX', '') ~ name }}
{%- endmacro %}
