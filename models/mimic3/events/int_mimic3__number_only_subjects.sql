with event_counts as (
    select * from {{ ref('int_mimic3__event_counts') }}
    where has_only_numbers is not null
),

-- Over all checked events of a subject, not only the benchmark's items.
final as (
    select subject_id
    from event_counts
    group by subject_id
    having bool_and(has_only_numbers)
)

select * from final
