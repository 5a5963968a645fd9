with cohort as (
    select * from {{ ref('int_mimic3__cohort') }}
),

phenotype_labels as (
    select * from {{ ref('int_mimic3__phenotype_labels') }}
),

episode_rows as (
    select * from {{ ref('int_mimic3__episode_rows') }}
),

row_summaries as (
    select
        icustay_id,
        count(*) as timeseries_row_count,
        min(hours) filter (where is_in_stay) as first_hour_in_stay,
        count(*) filter (where is_in_first_48_hours) as row_count_in_first_48_hours
    from episode_rows
    group by icustay_id
),

final as (
    select
        cohort.subject_id,
        cohort.hadm_id,
        cohort.icustay_id,
        cohort.episode,
        cohort.stay,
        cohort.partition,
        cohort.is_validation,
        cohort.los_hours,
        cohort.lived_hours,
        cohort.mortality,
        coalesce(row_summaries.timeseries_row_count, 0) as timeseries_row_count,
        row_summaries.first_hour_in_stay,
        coalesce(row_summaries.row_count_in_first_48_hours, 0) as row_count_in_first_48_hours,
        -- The first rule, in this order, that keeps the stay out of every task.
        case
            when row_summaries.icustay_id is null then 'no_timeseries'
            when not phenotype_labels.has_label then 'no_label'
            when cohort.los_hours is null then 'no_length_of_stay'
        end as task_exclusion
    from cohort
    left join phenotype_labels on cohort.icustay_id = phenotype_labels.icustay_id
    left join row_summaries on cohort.icustay_id = row_summaries.icustay_id
)

select * from final
