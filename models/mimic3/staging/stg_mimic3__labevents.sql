select
    {{ read_integer('mimic3.labevents', 'subject_id') }} as subject_id,
    {{ read_integer('mimic3.labevents', 'hadm_id') }} as hadm_id,
    -- A laboratory result is of an admission; the event check finds its stay.
    cast(null as integer) as icustay_id,
    {{ read_integer('mimic3.labevents', 'itemid') }} as itemid,
    {{ read_timestamp('mimic3.labevents', 'charttime') }} as charttime,
    {{ read_text('value') }} as value,
    {{ read_text('valueuom') }} as valueuom
from {{ source('mimic3', 'labevents') }}
