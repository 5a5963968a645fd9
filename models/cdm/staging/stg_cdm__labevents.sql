select
    {{ read_integer('mimic4_hosp.labevents', 'labevent_id') }} as labevent_id,
    {{ read_integer('mimic4_hosp.labevents', 'subject_id') }} as subject_id,
    {{ read_integer('mimic4_hosp.labevents', 'hadm_id') }} as hadm_id,
    {{ read_integer('mimic4_hosp.labevents', 'itemid') }} as itemid,
    {{ read_timestamp('mimic4_hosp.labevents', 'charttime') }} as charttime,
    {{ read_timestamp('mimic4_hosp.labevents', 'storetime') }} as storetime,
    {{ read_cell('value') }} as value,
    {{ read_double('mimic4_hosp.labevents', 'valuenum') }} as valuenum,
    {{ read_cell('valueuom') }} as valueuom,
    {{ read_double('mimic4_hosp.labevents', 'ref_range_lower') }} as ref_range_lower,
    {{ read_double('mimic4_hosp.labevents', 'ref_range_upper') }} as ref_range_upper,
    {{ read_cell('flag') }} as flag,
    {{ read_cell('comments') }} as comments
from {{ source('mimic4_hosp', 'labevents') }}
