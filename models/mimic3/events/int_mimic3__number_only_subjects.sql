with event_values as (
    select * from {{ ref('int_mimic3__event_values') }}
    where
        outcome in (
            'item_not_mapped', 'measurement', 'value_not_readable', 'number_but_no_laboratory_text'
        )
),

-- Over all checked events of a subject, not only the benchmark's items.
final as (
    select subject_id
    from event_values
    group by subject_id
    having bool_and(has_only_numbers)
)

select * from final
