select
    {{ read_integer('mimic3.icustays', 'subject_id') }} as subject_id,
    {{ read_integer('mimic3.icustays', 'hadm_id') }} as hadm_id,
    {{ read_integer('mimic3.icustays', 'icustay_id') }} as icustay_id,
    {{ read_text('dbsource') }} as dbsource,
    {{ read_text('first_careunit') }} as first_careunit,
    {{ read_text('last_careunit') }} as last_careunit,
    {{ read_integer('mimic3.icustays', 'first_wardid') }} as first_wardid,
    {{ read_integer('mimic3.icustays', 'last_wardid') }} as last_wardid,
    {{ read_timestamp('mimic3.icustays', 'intime') }} as intime,
    {{ read_timestamp('mimic3.icustays', 'outtime') }} as outtime,
    {{ read_double('mimic3.icustays', 'los') }} as los
from {{ source('mimic3', 'icustays') }}
