select
    {{ read_integer('mimic4_hosp.microbiologyevents', 'microevent_id') }} as microevent_id,
    {{ read_integer('mimic4_hosp.microbiologyevents', 'subject_id') }} as subject_id,
    {{ read_integer('mimic4_hosp.microbiologyevents', 'hadm_id') }} as hadm_id,
    {{ read_timestamp('mimic4_hosp.microbiologyevents', 'chartdate') }} as chartdate,
    {{ read_timestamp('mimic4_hosp.microbiologyevents', 'charttime') }} as charttime,
    {{ read_timestamp('mimic4_hosp.microbiologyevents', 'storetime') }} as storetime,
    {{ read_cell('spec_type_desc') }} as spec_type_desc,
    {{ read_integer('mimic4_hosp.microbiologyevents', 'test_itemid') }} as test_itemid,
    {{ read_cell('test_name') }} as test_name,
    {{ read_cell('org_name') }} as org_name,
    {{ read_cell('comments') }} as comments
from {{ source('mimic4_hosp', 'microbiologyevents') }}
