with episode_rows as (
    select * from {{ ref('int_mimic3__episode_rows') }}
),

measurements as (
    select * from {{ ref('int_mimic3__measurements') }}
),

cohort as (
    select * from {{ ref('int_mimic3__cohort') }}
),

final as (
    select
        episode_rows.subject_id,
        cohort.episode,
        cohort.stay,
        episode_rows.icustay_id,
        cohort.partition,
        episode_rows.event_icustay_id,
        episode_rows.charttime,
        episode_rows.hours,
        {{ measurement_columns('measurements') }}
    from episode_rows
    inner join measurements
        on
            episode_rows.subject_id = measurements.subject_id
            and episode_rows.charttime = measurements.charttime
    inner join cohort on episode_rows.icustay_id = cohort.icustay_id
)

select * from final
