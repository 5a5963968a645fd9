select
    {{ read_integer('mimic4_hosp.transfers', 'subject_id') }} as subject_id,
    {{ read_integer('mimic4_hosp.transfers', 'hadm_id') }} as hadm_id,
    {{ read_timestamp('mimic4_hosp.transfers', 'intime') }} as intime
from {{ source('mimic4_hosp', 'transfers') }}
