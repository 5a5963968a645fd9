with events as (
    select * from labevents where hadm_id = ?
    union all
    select * from labevents_assigned where hadm_id = ?
)

select
    events.itemid, d_labitems.label, d_labitems.fluid, d_labitems.category,
    events.value, events.valuenum, events.valueuom, events.flag, events.comments,
    events.ref_range_lower, events.ref_range_upper,
    events.charttime, events.storetime, events.labevent_id,
    (select min(chartdate) from procedures_icd where hadm_id = ?) as first_procedure
from events
inner join d_labitems on events.itemid = d_labitems.itemid
