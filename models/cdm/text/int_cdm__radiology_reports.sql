with radiology_events as (
    select * from {{ ref('int_cdm__radiology_events') }}
),

event_admissions as (
    select * from {{ ref('int_cdm__event_admissions') }}
    where source_table = 'radiology'
),

outcomes as (
    select * from {{ ref('int_cdm__radiology_outcomes') }}
),

cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

first_procedures as (
    select * from {{ ref('int_cdm__first_procedures') }}
),

result_cap as (
    select * from {{ ref('int_cdm__result_cap') }}
),

-- Of what belongs to no admission or has no text, nothing else is computed.
without_outcome as (
    select
        radiology_events.note_id,
        radiology_events.charttime,
        coalesce(radiology_events.hadm_id, event_admissions.hadm_id) as hadm_id,
        case when radiology_events.text is null then 'no_text' end as outcome
    from radiology_events
    left join event_admissions
        on
            radiology_events.note_id = event_admissions.event_id
            and radiology_events.hadm_id is null
    where
        radiology_events.text is null
        or coalesce(radiology_events.hadm_id, event_admissions.hadm_id) is null
),

all_reports as (
    select
        hadm_id,
        note_id,
        exam_name,
        modality,
        region,
        charttime,
        copy_count,
        text,
        outcome
    from outcomes
    union all
    select
        hadm_id,
        note_id,
        cast(null as {{ dbt.type_string() }}) as exam_name,
        cast(null as {{ dbt.type_string() }}) as modality,
        cast(null as {{ dbt.type_string() }}) as region,
        charttime,
        1 as copy_count,
        cast(null as {{ dbt.type_string() }}) as text,
        outcome
    from without_outcome
),

without_rank as (
    select
        all_reports.*,
        case
            when all_reports.hadm_id is null then 'no_admission'
            when cohort.hadm_id is null then 'not_in_cohort'
            when all_reports.outcome <> 'kept' then all_reports.outcome
        end as no_report,
        -- A procedure has a day and no time, so its whole day is after it.
        coalesce(
            first_procedures.first_procedure_date is null
            or cast(all_reports.charttime as date) < first_procedures.first_procedure_date,
            false
        ) as is_before_first_procedure
    from all_reports
    left join cohort on all_reports.hadm_id = cohort.hadm_id
    left join first_procedures on all_reports.hadm_id = first_procedures.hadm_id
),

-- The reference counts within a note, so every report is a first one; only a report with several
-- links to a parent comes again.
numbered as (
    {% if var('cdm_rules') == 'reference' %}
        select
            without_rank.*,
            copies.copy_number,
            case when without_rank.no_report is null then copies.copy_number end as sequence_num
        from without_rank
        cross join result_cap
        cross join {{ whole_numbers(1, 3, 'copies', 'copy_number') }}
        where
            copies.copy_number = 1
            or (
                without_rank.no_report is null
                and copies.copy_number <= without_rank.copy_count
                and copies.copy_number <= result_cap.results_per_test
            )
    {% else %}
        select
            *,
            1 as copy_number,
            case
                when no_report is null
                    then row_number() over (
                        partition by hadm_id, modality, region, no_report
                        order by charttime asc nulls last, {{ text_order('note_id') }}
                    )
            end as sequence_num
        from without_rank
    {% endif %}
),

final as (
    select
        numbered.hadm_id,
        numbered.note_id,
        numbered.exam_name,
        numbered.modality,
        numbered.region,
        numbered.charttime,
        numbered.text,
        cast(numbered.copy_number as integer) as copy_number,
        cast(numbered.sequence_num as integer) as sequence_num,
        case
            when numbered.no_report is not null then numbered.no_report
            when not numbered.is_before_first_procedure then 'not_before_first_procedure'
            when numbered.sequence_num > result_cap.results_per_test then 'beyond_the_third'
        end as exclusion
    from numbered
    cross join result_cap
)

select * from final
