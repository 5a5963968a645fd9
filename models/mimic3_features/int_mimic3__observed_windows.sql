with observations as (
    select * from {{ ref('int_mimic3__observations') }}
),

feature_windows as (
    select * from {{ ref('mimic3_feature_windows') }}
),

-- The end of one task's window may be the hour of another.
windows as (
    select distinct
        icustay_id,
        window_hours
    from feature_windows
),

final as (
    select
        observations.icustay_id,
        windows.window_hours,
        observations.variable_id,
        min(observations.hours) as first_hours,
        max(observations.hours) as last_hours
    from observations
    inner join windows
        on
            observations.icustay_id = windows.icustay_id
            and observations.hours < windows.window_hours + {{ mimic3_epsilon() }}
    group by
        observations.icustay_id,
        windows.window_hours,
        observations.variable_id
)

select * from final
