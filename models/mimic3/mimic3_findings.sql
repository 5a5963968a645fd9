with cohort as (
    select * from {{ ref('int_mimic3__cohort') }}
),

diagnoses as (
    select * from {{ ref('int_mimic3__diagnoses') }}
),

icd9_phenotypes as (
    select * from {{ ref('icd9_phenotypes') }}
),

event_counts as (
    select * from {{ ref('int_mimic3__event_counts') }}
),

number_only_subjects as (
    select * from {{ ref('int_mimic3__number_only_subjects') }}
),

variables as (
    select * from {{ ref('variable_ranges') }}
),

-- For temperature, weight, height, inspired oxygen and blood pressure the reference stops here.
unreadable_values as (
    select
        'value_not_readable' as finding,
        variables.variable as detail,
        sum(event_counts.event_count) as case_count
    from event_counts
    inner join variables on event_counts.variable_id = variables.variable_id
    where event_counts.outcome = 'value_not_readable'
    group by variables.variable
),

stays_of_equal_times as (
    select
        'stays_of_equal_times' as finding,
        '' as detail,
        count(*) as case_count
    from (
        select
            count(*) over (
                partition by subject_id, intime, outtime
            ) as stay_count
        from cohort
    ) as counted
    where stay_count > 1
),

codes_outside_groups as (
    select
        'code_outside_ccs_groups' as finding,
        diagnoses.icd9_code as detail,
        count(*) as case_count
    from diagnoses
    left join icd9_phenotypes on diagnoses.icd9_code = icd9_phenotypes.icd9_code
    where icd9_phenotypes.icd9_code is null
    group by diagnoses.icd9_code
),

missing_ethnicity as (
    select
        'ethnicity_missing' as finding,
        '' as detail,
        count(*) as case_count
    from cohort
    where ethnicity is null
),

subjects_without_events as (
    select
        'subject_without_events' as finding,
        '' as detail,
        count(distinct cohort.subject_id) as case_count
    from cohort
    left join event_counts on cohort.subject_id = event_counts.subject_id
    where event_counts.subject_id is null
),

subjects_of_numbers as (
    select
        'subject_with_numbers_only' as finding,
        '' as detail,
        count(*) as case_count
    from number_only_subjects
),

stays_past_death as (
    select
        'stay_ends_after_death' as finding,
        '' as detail,
        count(*) as case_count
    from cohort
    where outtime > deathtime
),

all_findings as (
    {% for finding in [
        'unreadable_values',
        'stays_of_equal_times',
        'codes_outside_groups',
        'missing_ethnicity',
        'subjects_without_events',
        'subjects_of_numbers',
        'stays_past_death',
    ] %}
        select * from {{ finding }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

final as (
    select
        finding,
        detail,
        cast(case_count as bigint) as case_count
    from all_findings
    where case_count > 0
)

select * from final
