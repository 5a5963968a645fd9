select
    {{ read_integer('mimic3.outputevents', 'subject_id') }} as subject_id,
    {{ read_integer('mimic3.outputevents', 'hadm_id') }} as hadm_id,
    {{ read_integer('mimic3.outputevents', 'icustay_id') }} as icustay_id,
    {{ read_integer('mimic3.outputevents', 'itemid') }} as itemid,
    {{ read_timestamp('mimic3.outputevents', 'charttime') }} as charttime,
    {{ read_text('value') }} as value,
    {{ read_text('valueuom') }} as valueuom
from {{ source('mimic3', 'outputevents') }}
