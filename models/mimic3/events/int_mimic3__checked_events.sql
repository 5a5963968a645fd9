{{ config(materialized='view') }}

with events as (
    select * from {{ ref('int_mimic3__events') }}
),

-- Read twice: PostgreSQL would keep it in a list of its own, which only one process can read.
cohort as {{ materialized(false) }} (
    select * from {{ ref('int_mimic3__cohort') }}
),

cohort_subjects as (
    select distinct subject_id from cohort
),

-- The stay of an event is the cohort stay of its admission, of the same subject. CHARTTIME is not
-- compared: a laboratory result from before or after the stay belongs to it.
matched as (
    select
        events.*,
        cohort_subjects.subject_id is not null as is_of_cohort_subject,
        cohort.icustay_id as cohort_icustay_id
    from events
    left join cohort_subjects on events.subject_id = cohort_subjects.subject_id
    left join cohort
        on
            events.subject_id = cohort.subject_id
            and events.hadm_id = cohort.hadm_id
),

final as (
    select
        source_table,
        subject_id,
        cohort_icustay_id as icustay_id,
        charttime,
        itemid,
        value,
        valueuom,
        case
            when not is_of_cohort_subject then 'subject_not_in_cohort'
            when hadm_id is null then 'empty_hadm'
            when cohort_icustay_id is null then 'no_hadm_in_stay'
            when icustay_id <> cohort_icustay_id then 'icustay_missing_in_stays'
        end as check_failure,
        -- The event names no stay; the check gives it that of its admission.
        coalesce(
            is_of_cohort_subject
            and hadm_id is not null
            and cohort_icustay_id is not null
            and icustay_id is null,
            false
        ) as is_recovered
    from matched
)

select * from final
