{#- Whether an extract of the given kind counts. Where the choice is left to the data, an extract
    that was provided does once it has rows, and what the notes give otherwise. -#}
{% macro counts_as_extract(kind, provided_relation) -%}
    {%- if var('cdm_extract_source') == kind -%}
        true
    {%- elif var('cdm_extract_source') != 'auto' -%}
        false
    {%- elif kind == 'provided' -%}
        true
    {%- else -%}
        not exists (select 1 from {{ provided_relation }})
    {%- endif -%}
{%- endmacro %}
