with observations as (
    select * from {{ ref('int_mimic3__observations') }}
),

observed_windows as (
    select * from {{ ref('int_mimic3__observed_windows') }}
),

members as (
    select
        observed_windows.icustay_id,
        observed_windows.window_hours,
        observed_windows.variable_id,
        observed_windows.first_hours,
        observed_windows.last_hours,
        observations.value,
        {{ sub_window_memberships('observations.hours', 'observed_windows') }}
    from observations
    inner join observed_windows
        on
            observations.icustay_id = observed_windows.icustay_id
            and observations.variable_id = observed_windows.variable_id
            and observations.hours <= observed_windows.last_hours
),

final as (
    select
        icustay_id,
        window_hours,
        variable_id,
        first_hours,
        last_hours,
        {{ for_each_sub_window('count(*) filter (where is_in_#) as #_count') }},
        {{ for_each_sub_window('min(value) filter (where is_in_#) as #_minimum') }},
        {{ for_each_sub_window('max(value) filter (where is_in_#) as #_maximum') }}
    from members
    group by
        icustay_id,
        window_hours,
        variable_id,
        first_hours,
        last_hours
)

select * from final
