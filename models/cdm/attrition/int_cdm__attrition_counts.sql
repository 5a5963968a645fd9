with selection as (
    select * from {{ ref('int_cdm__selection') }}
),

lab_results as (
    select * from {{ ref('int_cdm__lab_results') }}
),

culture_rows as (
    select * from {{ ref('int_cdm__culture_rows') }}
),

microbiology_events as (
    select * from {{ ref('int_cdm__microbiology_events') }}
),

-- The reference has some reports twice; here each counts once.
radiology_reports as (
    select * from {{ ref('int_cdm__radiology_reports') }}
    where copy_number = 1
),

excluded as (
    select
        'cohort' as stage,
        exclusion
    from selection
    union all
    select
        'lab_results' as stage,
        exclusion
    from lab_results
    union all
    select
        'microbiology_rows' as stage,
        exclusion
    from culture_rows
    union all
    select
        'microbiology_events' as stage,
        exclusion
    from microbiology_events
    union all
    select
        'radiology_reports' as stage,
        exclusion
    from radiology_reports
),

final as (
    select
        stage,
        exclusion,
        count(*) as row_count
    from excluded
    group by stage, exclusion
)

select * from final
