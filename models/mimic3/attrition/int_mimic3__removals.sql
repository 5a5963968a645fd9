-- How many rows each rule removes, and (with a missing rule) how many are left in the end.
with event_counts as (
    select * from {{ ref('int_mimic3__event_counts') }}
),

number_only_subjects as (
    select * from {{ ref('int_mimic3__number_only_subjects') }}
),

episodes as (
    select * from {{ ref('int_mimic3__episodes') }}
),

multitask as (
    select * from {{ ref('mimic3_multitask') }}
),

length_of_stay as (
    select * from {{ ref('mimic3_length_of_stay') }}
),

decompensation as (
    select * from {{ ref('mimic3_decompensation') }}
),

events as (
    select
        case
            when event_counts.outcome = 'measurement' then null
            when event_counts.outcome <> 'number_but_no_laboratory_text' then event_counts.outcome
            when number_only_subjects.subject_id is null then 'value_not_readable'
        end as rule,
        event_counts.event_count
    from event_counts
    left join number_only_subjects on event_counts.subject_id = number_only_subjects.subject_id
),

task_episodes as (
    select
        *,
        case
            when los_hours < 48 - {{ mimic3_epsilon() }} then 'shorter_than_48_hours'
            when row_count_in_first_48_hours = 0 then 'no_event_in_first_48_hours'
        end as in_hospital_mortality_rule,
        case when first_hour_in_stay is null then 'no_event_in_stay' end as observation_rule
    from episodes
    where task_exclusion is null
),

hour_counts as (
    select
        (select coalesce(sum(length_of_stay_hours), 0) from multitask) as stay_hours,
        (select count(*) from length_of_stay) as length_of_stay_samples,
        (select count(*) from decompensation) as decompensation_samples
),

final as (
    select
        'events' as stage,
        'events' as unit,
        rule,
        cast(sum(event_count) as bigint) as row_count
    from events
    group by rule
    {% for stage, source, rule in [
        ('episodes', 'episodes', 'task_exclusion'),
        ('in_hospital_mortality', 'task_episodes', 'in_hospital_mortality_rule'),
        ('observed_episodes', 'task_episodes', 'observation_rule'),
    ] %}
        union all
        select
            '{{ stage }}' as stage,
            'stays' as unit,
            {{ rule }} as rule,
            count(*) as row_count
        from {{ source }}
        group by {{ rule }}
    {% endfor %}
    {% for stage, rule, row_count in [
        ('length_of_stay', "'hour_not_sampled'", 'stay_hours - length_of_stay_samples'),
        ('length_of_stay', 'null', 'length_of_stay_samples'),
        ('decompensation', "'after_death'", 'length_of_stay_samples - decompensation_samples'),
        ('decompensation', 'null', 'decompensation_samples'),
    ] %}
        union all
        select
            '{{ stage }}' as stage,
            'hours' as unit,
            {{ rule }} as rule,
            cast({{ row_count }} as bigint) as row_count
        from hour_counts
    {% endfor %}
)

select * from final
