with lab_results as (
    select * from {{ ref('int_cdm__lab_results') }}
),

lab_events as (
    select * from {{ ref('int_cdm__lab_events') }}
),

scrub_patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

-- What either mode shows: the first result of each test whenever it was, and what no rule takes
-- out.
final as (
    select
        lab_results.hadm_id,
        lab_results.labevent_id,
        lab_results.itemid,
        {{ scrubbed_result('lab_results.label', 'scrub_patterns') }} as test_name,
        lab_results.fluid,
        lab_results.category,
        lab_events.valuenum,
        lab_events.value,
        {{ scrubbed_result('lab_results.value_text', 'scrub_patterns') }} as value_text,
        lab_results.value_origin,
        lab_events.valueuom as unit,
        lab_events.flag,
        lab_events.ref_range_lower,
        lab_events.ref_range_upper,
        lab_results.charttime,
        lab_results.sequence_num,
        lab_results.exclusion
    from lab_results
    inner join lab_events on lab_results.labevent_id = lab_events.labevent_id
    left join scrub_patterns on lab_results.hadm_id = scrub_patterns.hadm_id
    where lab_results.sequence_num = 1 or lab_results.exclusion is null
)

select * from final
