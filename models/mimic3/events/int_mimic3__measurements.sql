with event_values as (
    select * from {{ ref('int_mimic3__event_values') }}
    where outcome in ('measurement', 'number_but_no_laboratory_text')
),

number_only_subjects as (
    select * from {{ ref('int_mimic3__number_only_subjects') }}
),

variables as (
    select * from {{ ref('variable_ranges') }}
),

counted as (
    select
        event_values.*,
        variables.variable,
        number_only_subjects.subject_id is not null as is_number_only_subject
    from event_values
    left join number_only_subjects on event_values.subject_id = number_only_subjects.subject_id
    left join variables on event_values.variable_id = variables.variable_id
    where
        event_values.outcome = 'measurement'
        or number_only_subjects.subject_id is not null
),

-- One value for each time and variable of a subject, over all its stays: the greatest, numbers by
-- size and texts in byte order.
greatest as (
    select
        subject_id,
        charttime,
        is_number_only_subject,
        {{ greatest_numbers() }},
        {{ greatest_texts() }}
    from counted
    group by
        subject_id,
        charttime,
        is_number_only_subject
),

-- Beside a text stands the number that it reads as, not the greatest of the numbers (`9` beats
-- `120` as a text).
final as (
    select
        subject_id,
        charttime,
        {{ numbers_beside_texts() }}
    from greatest
)

select * from final
