select
    {{ read_integer('mimic3.admissions', 'subject_id') }} as subject_id,
    {{ read_integer('mimic3.admissions', 'hadm_id') }} as hadm_id,
    {{ read_timestamp('mimic3.admissions', 'admittime') }} as admittime,
    {{ read_timestamp('mimic3.admissions', 'dischtime') }} as dischtime,
    {{ read_timestamp('mimic3.admissions', 'deathtime') }} as deathtime,
    {{ read_text('ethnicity') }} as ethnicity,
    {{ read_text('diagnosis') }} as diagnosis
from {{ source('mimic3', 'admissions') }}
