with selection as (
    select * from {{ ref('int_cdm__selection') }}
),

cohort as (
    select * from {{ ref('int_cdm__cohort') }}
),

lab_events as (
    select * from {{ ref('int_cdm__lab_events') }}
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

radiology_outcomes as (
    select * from {{ ref('int_cdm__radiology_outcomes') }}
),

radiology_reports as (
    select * from {{ ref('int_cdm__radiology_reports') }}
),

-- Who gives a list has chosen, so no criterion takes an admission of it away.
selection_steps as (
    select
        0 as step_number,
        count(*) as row_count
    from selection
    {%- for condition in cdm_selection_conditions() %}
        union all
        select
            {{ loop.index }} as step_number,
            count(*) as row_count
        from selection
        where
            {% if var('cdm_cohort_file') -%}
                is_selected
            {%- else -%}
                {{ cdm_selection_conditions()[:loop.index] | join(' and ') }}
            {%- endif %}
    {%- endfor %}
),

lab_event_steps as (
    select
        count(*) as all_rows,
        count(lab_events.hadm_id) as with_admission,
        count(cohort.hadm_id) as in_cohort
    from lab_events
    left join cohort on lab_events.hadm_id = cohort.hadm_id
),

lab_result_steps as (
    select
        count(*) as with_value,
        count(*) filter (where lab_results.sequence_num <= 3) as first_three,
        count(*) filter (
            where lab_results.sequence_num <= 3 and lab_results.is_before_first_procedure
        ) as before_procedure
    from lab_results
    inner join cohort on lab_results.hadm_id = cohort.hadm_id
),

culture_row_steps as (
    select
        count(*) as all_rows,
        count(culture_rows.hadm_id) as with_admission,
        count(cohort.hadm_id) as in_cohort,
        count(cohort.hadm_id) filter (
            where culture_rows.org_name <> 'CANCELLED' or culture_rows.comments <> '___'
        ) as with_finding
    from culture_rows
    left join cohort on culture_rows.hadm_id = cohort.hadm_id
),

culture_steps as (
    select
        count(*) as all_rows,
        count(*) filter (where microbiology_events.sequence_num <= 3) as first_three,
        count(*) filter (
            where
            microbiology_events.sequence_num <= 3
            and microbiology_events.is_before_first_procedure
        ) as before_procedure
    from microbiology_events
    inner join cohort on microbiology_events.hadm_id = cohort.hadm_id
),

radiology_outcome_steps as (
    select
        count(*) as all_rows,
        count(cohort.hadm_id) as in_cohort,
        count(cohort.hadm_id) filter (
            where radiology_outcomes.outcome <> 'no_exam_name'
        ) as with_exam_name,
        count(cohort.hadm_id) filter (
            where radiology_outcomes.outcome in ('no_region', 'no_findings', 'kept')
        ) as with_modality,
        count(cohort.hadm_id) filter (
            where radiology_outcomes.outcome in ('no_findings', 'kept')
        ) as with_region,
        count(cohort.hadm_id) filter (where radiology_outcomes.outcome = 'kept') as with_findings
    from radiology_outcomes
    left join cohort on radiology_outcomes.hadm_id = cohort.hadm_id
),

-- The reference has some reports twice; here each counts once.
cohort_reports as (
    select
        radiology_reports.hadm_id,
        radiology_reports.note_id,
        min(radiology_reports.sequence_num) as sequence_num,
        {{ dbt.bool_or('radiology_reports.is_before_first_procedure') }}
            as is_before_first_procedure
    from radiology_reports
    inner join cohort on radiology_reports.hadm_id = cohort.hadm_id
    group by
        radiology_reports.hadm_id,
        radiology_reports.note_id
),

radiology_report_steps as (
    select
        count(*) filter (where sequence_num <= 3) as first_three,
        count(*) filter (
            where sequence_num <= 3 and is_before_first_procedure
        ) as before_procedure
    from cohort_reports
),

steps as (
    select
        'cohort' as stage,
        step_number,
        row_count
    from selection_steps
    {% for stage, relation, first_step, columns in [
        ('lab_results', 'lab_event_steps', 0, ['all_rows', 'with_admission', 'in_cohort']),
        ('lab_results', 'lab_result_steps', 3, ['with_value', 'first_three', 'before_procedure']),
        (
            'microbiology_rows', 'culture_row_steps', 0,
            ['all_rows', 'with_admission', 'in_cohort', 'with_finding']
        ),
        (
            'microbiology_events', 'culture_steps', 0,
            ['all_rows', 'first_three', 'before_procedure']
        ),
        (
            'radiology_reports', 'radiology_outcome_steps', 0,
            [
                'all_rows', 'in_cohort', 'with_exam_name', 'with_modality', 'with_region',
                'with_findings'
            ]
        ),
        (
            'radiology_reports', 'radiology_report_steps', 6,
            ['first_three', 'before_procedure']
        ),
    ] -%}
        {%- for column in columns %}
            union all
            select
                '{{ stage }}' as stage,
                {{ first_step + loop.index0 }} as step_number,
                {{ column }} as row_count
            from {{ relation }}
        {%- endfor %}
    {%- endfor %}
),

final as (
    select
        stage,
        step_number,
        cast(row_count as bigint) as row_count
    from steps
)

select * from final
