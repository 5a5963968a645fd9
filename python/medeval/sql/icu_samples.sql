-- The samples of one part of an ICU task with their labels, numbered from 0.
with samples as (
    select
        windows.stay,
        windows.icustay_id,
        windows.window_hours,
        windows.weight,
        {columns}
    from {listed} as listed
    inner join {windows} as windows
        on listed.icustay_id = windows.icustay_id
    where {conditions}
),
numbered as (
    select
        *,
        row_number() over (order by stay collate "C", window_hours) - 1 as sample_number
    from samples
)
