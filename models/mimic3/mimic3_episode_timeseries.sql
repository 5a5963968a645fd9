with episode_rows as (
    select * from {{ ref('int_mimic3__episode_rows') }}
),

measurements as (
    select * from {{ ref('int_mimic3__measurements') }}
),

cohort as (
    select * from {{ ref('int_mimic3__cohort') }}
),

in_hospital_mortality as (
    select * from {{ ref('mimic3_in_hospital_mortality') }}
),

listed_episodes as (
    select * from {{ ref('int_mimic3__episodes') }}
    where task_exclusion is null
),

-- What the model of a task may see. A stay that is too short for an hourly sample has its rows too.
task_rows as (
    select
        episode_rows.*,
        episode_rows.is_in_first_48_hours
        and in_hospital_mortality.icustay_id is not null as is_in_hospital_mortality_input,
        episode_rows.is_in_stay
        and listed_episodes.icustay_id is not null as is_whole_stay_input
    from episode_rows
    left join in_hospital_mortality on episode_rows.icustay_id = in_hospital_mortality.icustay_id
    left join listed_episodes on episode_rows.icustay_id = listed_episodes.icustay_id
),

final as (
    select
        task_rows.subject_id,
        cohort.episode,
        cohort.stay,
        task_rows.icustay_id,
        cohort.partition,
        task_rows.is_in_hospital_mortality_input,
        task_rows.is_whole_stay_input as is_decompensation_input,
        task_rows.is_whole_stay_input as is_length_of_stay_input,
        task_rows.is_whole_stay_input as is_phenotyping_input,
        task_rows.is_whole_stay_input as is_multitask_input,
        task_rows.event_icustay_id,
        task_rows.charttime,
        task_rows.hours,
        {{ measurement_columns('measurements') }}
    from task_rows
    inner join measurements
        on
            task_rows.subject_id = measurements.subject_id
            and task_rows.charttime = measurements.charttime
    inner join cohort on task_rows.icustay_id = cohort.icustay_id
)

select * from final
