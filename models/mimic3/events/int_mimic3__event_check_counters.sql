with event_counts as (
    select * from {{ ref('int_mimic3__event_counts') }}
    where outcome <> 'subject_not_in_cohort'
),

final as (
    select
        cast(coalesce(sum(event_count), 0) as bigint) as n_events,
        cast(coalesce(sum(event_count) filter (where outcome = 'empty_hadm'), 0) as bigint)
            as empty_hadm,
        cast(coalesce(sum(event_count) filter (where outcome = 'no_hadm_in_stay'), 0) as bigint)
            as no_hadm_in_stay,
        cast(coalesce(sum(event_count) filter (where is_recovered), 0) as bigint) as no_icustay,
        cast(coalesce(sum(event_with_stay_count) filter (where is_recovered), 0) as bigint)
            as recovered,
        cast(
            coalesce(sum(event_count - event_with_stay_count) filter (where is_recovered), 0)
            as bigint
        ) as could_not_recover,
        cast(
            coalesce(sum(event_count) filter (where outcome = 'icustay_missing_in_stays'), 0)
            as bigint
        ) as icustay_missing_in_stays
    from event_counts
)

select * from final
