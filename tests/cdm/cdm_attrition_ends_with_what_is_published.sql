-- What the last step of a stage leaves is what the published table holds. A report counts once,
-- however many copies the reference has of it.
with published as (
    select
        'cohort' as stage,
        count(*) as row_count
    from {{ ref('cdm_cases') }}
    union all
    select
        'lab_results' as stage,
        count(*) as row_count
    from {{ ref('cdm_lab_results') }}
    union all
    select
        'microbiology_events' as stage,
        count(*) as row_count
    from {{ ref('cdm_microbiology_events') }}
    union all
    select
        'radiology_reports' as stage,
        count(distinct concat(hadm_id, ' ', note_id)) as row_count
    from {{ ref('cdm_radiology_reports') }}
),

last_steps as (
    select
        stage,
        max(step_number) as step_number
    from {{ ref('cdm_attrition') }}
    group by stage
)

select
    attrition.stage,
    attrition.rows_out,
    published.row_count
from {{ ref('cdm_attrition') }} as attrition
inner join last_steps
    on
        attrition.stage = last_steps.stage
        and attrition.step_number = last_steps.step_number
inner join published on attrition.stage = published.stage
where attrition.rows_out <> published.row_count
