with admission_windows as (
    select * from {{ ref('int_cdm__admission_windows') }}
),

candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

lab_events as (
    select * from {{ ref('int_cdm__lab_events') }}
),

culture_events as (
    select * from {{ ref('int_cdm__culture_events') }}
),

radiology_events as (
    select * from {{ ref('int_cdm__radiology_events') }}
),

overrides as (
    select * from {{ ref('cdm_assignment_overrides') }}
),

-- Whole numbers are the same text on every engine.
events_without_admission as (
    select
        'labevents' as source_table,
        cast(labevent_id as {{ dbt.type_string() }}) as event_id,
        subject_id,
        charttime
    from lab_events
    where hadm_id is null
    union all
    select
        'microbiologyevents' as source_table,
        cast(microevent_id as {{ dbt.type_string() }}) as event_id,
        subject_id,
        charttime
    from culture_events
    where hadm_id is null
    union all
    select
        'radiology' as source_table,
        note_id as event_id,
        subject_id,
        charttime
    from radiology_events
    where hadm_id is null
),

-- Both ends of a window count; what lies in the windows of two overlapping admissions is of both;
-- what has no time is of none.
within_window as (
    select
        events_without_admission.source_table,
        events_without_admission.event_id,
        admission_windows.hadm_id
    from events_without_admission
    inner join admission_windows
        on
            events_without_admission.subject_id = admission_windows.subject_id
            and events_without_admission.charttime >= admission_windows.window_start
            and events_without_admission.charttime <= admission_windows.window_end
),

-- Reports that the user gives to an admission although they lie outside its window.
overridden as (
    select
        events_without_admission.source_table,
        events_without_admission.event_id,
        overrides.hadm_id
    from events_without_admission
    inner join overrides
        on
            events_without_admission.event_id = overrides.note_id
            and events_without_admission.source_table = 'radiology'
    inner join candidates on overrides.hadm_id = candidates.hadm_id
),

final as (
    select * from within_window
    union
    select * from overridden
)

select * from final
