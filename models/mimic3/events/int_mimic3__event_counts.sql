with cleaned_events as (
    select * from {{ ref('int_mimic3__cleaned_events') }}
),

final as (
    select
        cast(source_table as {{ dbt.type_string() }}) as source_table,
        cast(outcome as {{ dbt.type_string() }}) as outcome,
        is_recovered,
        subject_id,
        variable_id,
        count(*) as event_count,
        count(icustay_id) as event_with_stay_count,
        -- Missing where no event of the group passed the check with a value.
        bool_and(is_number) as has_only_numbers
    from cleaned_events
    group by
        source_table,
        outcome,
        is_recovered,
        subject_id,
        variable_id
)

select * from final
