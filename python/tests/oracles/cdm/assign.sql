-- Of a table the rows without an admission, given to each that was open at their time.
create table {table}_assigned as
with stays as (
    select
        hadm_id,
        subject_id,
        min(intime) - interval '1 day' as opened,
        max(intime) as closed
    from transfers
    group by hadm_id, subject_id
)
select {names}
from ({typed}) as typed
inner join stays
    on typed.subject_id = stays.subject_id
    and typed.charttime between stays.opened and stays.closed
where typed.hadm_id is null
