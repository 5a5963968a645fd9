with stay_exclusions as (
    select * from {{ ref('int_mimic3__stay_exclusions') }}
),

rules as (
    select * from {{ ref('attrition_rules') }}
    where stage = 'cohort'
),

-- A stay that is kept counts after every step.
removal_steps as (
    select
        stay_exclusions.*,
        coalesce(rules.step_number, 999) as removed_at_step
    from stay_exclusions
    left join rules on stay_exclusions.exclusion = rules.rule
),

steps as (
    select
        rules.step_number,
        removal_steps.subject_id,
        removal_steps.hadm_id,
        removal_steps.icustay_id,
        removal_steps.removed_at_step > rules.step_number as is_left
    from removal_steps
    inner join rules on removal_steps.removed_at_step >= rules.step_number
),

final as (
    {% for unit, key in [
        ('stays', 'icustay_id'), ('admissions', 'hadm_id'), ('subjects', 'subject_id')
    ] %}
        select
            '{{ unit }}' as unit,
            step_number,
            count(distinct {{ key }}) as rows_in,
            count(distinct {{ key }}) filter (where is_left) as rows_out
        from steps
        group by step_number
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select * from final
