{#- Says which of the four diseases no case has: an id list or a source that is not what was meant. -#}
{% test cdm_every_pathology_has_a_case(model) %}

{{ config(severity='warn') }}

select pathologies.pathology
from (select distinct pathology from {{ ref('cdm_scrub_terms') }}) as pathologies
left join {{ model }} as cases on pathologies.pathology = cases.pathology
where cases.pathology is null

{% endtest %}
