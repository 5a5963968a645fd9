with culture_events as (
    select * from {{ ref('int_cdm__culture_events') }}
),

event_admissions as (
    select * from {{ ref('int_cdm__event_admissions') }}
    where source_table = 'microbiologyevents'
),

cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

of_admissions as (
    select
        coalesce(culture_events.hadm_id, event_admissions.hadm_id) as hadm_id,
        culture_events.microevent_id,
        culture_events.chartdate,
        culture_events.charttime,
        culture_events.storetime,
        culture_events.spec_type_desc,
        culture_events.test_itemid,
        culture_events.test_name,
        culture_events.org_name,
        culture_events.comments
    from culture_events
    left join event_admissions
        on
            cast(culture_events.microevent_id as {{ dbt.type_string() }})
            = event_admissions.event_id
            and culture_events.hadm_id is null
),

-- A row says something by its organism or by its comment.
final as (
    select
        of_admissions.*,
        case
            when of_admissions.hadm_id is null then 'no_admission'
            when cohort.hadm_id is null then 'not_in_cohort'
            when of_admissions.org_name <> 'CANCELLED' or of_admissions.comments <> '___' then null
            else 'no_finding'
        end as exclusion
    from of_admissions
    left join cohort on of_admissions.hadm_id = cohort.hadm_id
)

select * from final
