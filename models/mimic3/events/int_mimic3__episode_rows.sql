with event_values as (
    select * from {{ ref('int_mimic3__event_values') }}
),

cohort as (
    select * from {{ ref('int_mimic3__cohort') }}
),

-- Two stays of a subject with an event at the same time make two rows with the same values.
event_rows as (
    select distinct
        subject_id,
        charttime,
        icustay_id
    from event_values
),

-- An episode also takes in the rows of a sibling stay that are charted inside this one.
episode_rows as (
    select
        cohort.subject_id,
        cohort.icustay_id,
        event_rows.icustay_id as event_icustay_id,
        event_rows.charttime,
        cohort.los_hours,
        {{ hours_between('cohort.intime', 'event_rows.charttime') }} as hours
    from event_rows
    inner join cohort
        on
            event_rows.subject_id = cohort.subject_id
            and (
                event_rows.icustay_id = cohort.icustay_id
                or event_rows.charttime between cohort.intime and cohort.outtime
            )
),

final as (
    select
        subject_id,
        icustay_id,
        event_icustay_id,
        charttime,
        hours,
        -- LOS decides, not OUTTIME; it is rounded, so an event at OUTTIME falls on either side.
        coalesce(
            hours > -{{ mimic3_epsilon() }} and hours < los_hours + {{ mimic3_epsilon() }}, false
        ) as is_in_stay,
        coalesce(
            hours > -{{ mimic3_epsilon() }} and hours < 48 + {{ mimic3_epsilon() }}, false
        ) as is_in_first_48_hours
    from episode_rows
)

select * from final
