with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

microbiology_events as (
    select * from {{ ref('int_cdm__microbiology_events') }}
),

scrub_patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

-- The first result of a test, and up to three before the first procedure.
capped as (
    select microbiology_events.*
    from microbiology_events
    inner join cohort on microbiology_events.hadm_id = cohort.hadm_id
    where
        microbiology_events.sequence_num <= 3
        and (
            microbiology_events.is_first_result
            or microbiology_events.is_before_first_procedure
        )
),

final as (
    select
        capped.hadm_id,
        capped.test_itemid,
        {{ scrubbed_result('capped.test_name', 'scrub_patterns') }} as test_name,
        {{ scrubbed_result('capped.spec_type_desc', 'scrub_patterns') }} as spec_type_desc,
        {{ scrubbed_result('capped.organism_name', 'scrub_patterns') }} as organism_name,
        {{ scrubbed_result('capped.comments', 'scrub_patterns') }} as comments,
        capped.charttime,
        capped.event_date,
        capped.sequence_num,
        capped.is_first_result,
        capped.is_before_first_procedure
    from capped
    left join scrub_patterns on capped.hadm_id = scrub_patterns.hadm_id
)

select * from final
