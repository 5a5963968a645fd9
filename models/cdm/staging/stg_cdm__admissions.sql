select
    {{ read_integer('mimic4_hosp.admissions', 'subject_id') }} as subject_id,
    {{ read_integer('mimic4_hosp.admissions', 'hadm_id') }} as hadm_id,
    {{ read_timestamp('mimic4_hosp.admissions', 'admittime') }} as admittime
from {{ source('mimic4_hosp', 'admissions') }}
