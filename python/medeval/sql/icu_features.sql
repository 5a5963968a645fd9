-- Their features. The large table first: DuckDB builds its hash table of the second.
select
    numbered.sample_number,
    features.variable_id,
    {columns}
from {features} as features
inner join numbered
    on features.icustay_id = numbered.icustay_id
    and features.window_hours = numbered.window_hours
order by numbered.sample_number, features.variable_id
