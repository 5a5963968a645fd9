with event_values as (
    select * from {{ ref('int_mimic3__event_values') }}
),

charted_texts as (
    select * from {{ ref('int_mimic3__charted_texts') }}
),

variables as (
    select * from {{ ref('variable_ranges') }}
),

named as (
    select
        event_values.subject_id,
        event_values.charttime,
        event_values.cleaned_number,
        charted_texts.text_rank,
        variables.variable
    from event_values
    left join variables on event_values.variable_id = variables.variable_id
    left join charted_texts on event_values.charted_text = charted_texts.charted_text
),

-- One value for each time and variable of a subject, over all its stays: the greatest, numbers by
-- size and texts in byte order.
greatest as (
    select
        subject_id,
        charttime,
        {{ greatest_numbers() }},
        {{ greatest_text_ranks() }}
    from named
    group by
        subject_id,
        charttime
),

-- Beside a text stands the number that it reads as, not the greatest of the numbers (`9` beats
-- `120` as a text).
final as (
    select
        greatest.subject_id,
        greatest.charttime,
        {{ numbers_beside_texts() }}
    from greatest
    {{ join_charted_texts() }}
)

select * from final
