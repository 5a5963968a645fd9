with microbiology_events as (
    select * from {{ ref('int_cdm__microbiology_events') }}
),

scrub_patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

-- What either mode shows: the first culture of each test whenever it was, and what no rule takes
-- out.
final as (
    select
        events.hadm_id,
        events.test_itemid,
        {{ scrubbed_result('events.test_name', 'scrub_patterns') }} as test_name,
        {{ scrubbed_result('events.spec_type_desc', 'scrub_patterns') }} as spec_type_desc,
        {{ scrubbed_result('events.organism_name', 'scrub_patterns') }} as organism_name,
        {{ scrubbed_result('events.comments', 'scrub_patterns') }} as comments,
        events.charttime,
        events.event_date,
        events.sequence_num,
        events.exclusion
    from microbiology_events as events
    left join scrub_patterns on events.hadm_id = scrub_patterns.hadm_id
    where events.sequence_num = 1 or events.exclusion is null
)

select * from final
