{#- No published event lies on or after the day of the first procedure. -#}
{% test cdm_events_are_before_the_first_procedure(model, event_date) %}

with events as (
    select
        hadm_id,
        {{ event_date }} as event_date
    from {{ model }}
),

procedures as (
    select
        hadm_id,
        min(chartdate) as first_procedure_date
    from {{ ref('stg_cdm__procedures_icd') }}
    group by hadm_id
)

select
    events.hadm_id,
    events.event_date,
    procedures.first_procedure_date
from events
inner join procedures on events.hadm_id = procedures.hadm_id
where events.event_date is null or events.event_date >= procedures.first_procedure_date

{% endtest %}
