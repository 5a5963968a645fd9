with events as (
    select * from microbiologyevents where hadm_id = ?
    union all
    select * from microbiologyevents_assigned where hadm_id = ?
)

select
    test_itemid, test_name, spec_type_desc, org_name, comments, charttime, storetime,
    (select min(chartdate) from procedures_icd where hadm_id = ?) as first_procedure
from events
