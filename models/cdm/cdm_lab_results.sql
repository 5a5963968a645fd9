with cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

lab_results as (
    select * from {{ ref('int_cdm__lab_results') }}
),

lab_events as (
    select * from {{ ref('int_cdm__lab_events') }}
),

d_labitems as (
    select * from {{ ref('stg_cdm__d_labitems') }}
),

scrub_patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

-- The first result of a test, and up to three before the first procedure.
capped as (
    select lab_results.*
    from lab_results
    inner join cohort on lab_results.hadm_id = cohort.hadm_id
    where
        lab_results.sequence_num <= 3
        and (lab_results.is_first_result or lab_results.is_before_first_procedure)
),

with_values as (
    select
        lab_events.hadm_id,
        lab_events.labevent_id,
        lab_events.itemid,
        lab_events.valuenum,
        lab_events.value,
        capped.value_text,
        capped.value_origin,
        lab_events.valueuom,
        lab_events.flag,
        lab_events.ref_range_lower,
        lab_events.ref_range_upper,
        lab_events.charttime,
        capped.sequence_num,
        capped.is_first_result,
        capped.is_before_first_procedure
    from lab_events
    inner join capped
        on
            lab_events.labevent_id = capped.labevent_id
            and lab_events.hadm_id = capped.hadm_id
),

final as (
    select
        with_values.hadm_id,
        with_values.labevent_id,
        with_values.itemid,
        {{ scrubbed_result('d_labitems.label', 'scrub_patterns') }} as test_name,
        d_labitems.fluid,
        d_labitems.category,
        with_values.valuenum,
        with_values.value,
        {{ scrubbed_result('with_values.value_text', 'scrub_patterns') }} as value_text,
        with_values.value_origin,
        with_values.valueuom as unit,
        with_values.flag,
        with_values.ref_range_lower,
        with_values.ref_range_upper,
        with_values.charttime,
        with_values.sequence_num,
        with_values.is_first_result,
        with_values.is_before_first_procedure
    from with_values
    inner join d_labitems on with_values.itemid = d_labitems.itemid
    left join scrub_patterns on with_values.hadm_id = scrub_patterns.hadm_id
)

select * from final
