-- The one pass over the events. All that is needed of them later is an aggregate: row counts, the
-- counters of the check, whether all values of a subject are numbers, and the greatest value per
-- stay, time and variable. Events that become no measurement are counted together, not written.
with cleaned_events as (
    select * from {{ ref('int_mimic3__cleaned_events') }}
),

grouped_keys as (
    select
        source_table,
        outcome,
        is_recovered,
        case when outcome <> 'subject_not_in_cohort' then subject_id end as subject_id,
        icustay_id,
        variable_id,
        case when outcome in ('measurement', 'number_but_no_laboratory_text') then charttime end
            as charttime,
        is_number,
        value,
        cleaned_number,
        charted_text
    from cleaned_events
),

final as (
    select
        source_table,
        outcome,
        is_recovered,
        subject_id,
        icustay_id,
        variable_id,
        charttime,
        count(*) as event_count,
        -- Missing where no event of the group passed the check with a value.
        bool_and(is_number) filter (where icustay_id is not null and value is not null)
            as has_only_numbers,
        max(cleaned_number) as greatest_number,
        max({{ text_order('charted_text') }}) as greatest_text
    from grouped_keys
    group by
        source_table,
        outcome,
        is_recovered,
        subject_id,
        icustay_id,
        variable_id,
        charttime
)

select * from final
