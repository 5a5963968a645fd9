select
    {{ read_integer('mimic3.chartevents', 'subject_id') }} as subject_id,
    {{ read_integer('mimic3.chartevents', 'hadm_id') }} as hadm_id,
    {{ read_integer('mimic3.chartevents', 'icustay_id') }} as icustay_id,
    {{ read_integer('mimic3.chartevents', 'itemid') }} as itemid,
    {{ read_timestamp('mimic3.chartevents', 'charttime') }} as charttime,
    {{ read_text('value') }} as value,
    {{ read_text('valueuom') }} as valueuom
from {{ source('mimic3', 'chartevents') }}
