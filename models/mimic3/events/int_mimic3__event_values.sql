with cleaned_events as (
    select * from {{ ref('int_mimic3__cleaned_events') }}
    where outcome in ('measurement', 'number_but_no_laboratory_text')
),

number_only_subjects as (
    select * from {{ ref('int_mimic3__number_only_subjects') }}
),

typed as (
    select
        cleaned_events.subject_id,
        cleaned_events.icustay_id,
        cleaned_events.charttime,
        cleaned_events.variable_id,
        cleaned_events.outcome,
        cleaned_events.cleaned_number,
        cleaned_events.charted_text,
        number_only_subjects.subject_id is not null as is_of_number_only_subject
    from cleaned_events
    left join number_only_subjects on cleaned_events.subject_id = number_only_subjects.subject_id
),

-- A subject whose values are all numbers has no texts, and keeps its numbers in any form.
final as (
    select
        subject_id,
        icustay_id,
        charttime,
        variable_id,
        cleaned_number,
        case when not is_of_number_only_subject then charted_text end as charted_text
    from typed
    where
        outcome = 'measurement'
        or is_of_number_only_subject
)

select * from final
