select
    {{ read_integer('mimic4_hosp.procedures_icd', 'hadm_id') }} as hadm_id,
    {{ read_integer('mimic4_hosp.procedures_icd', 'seq_num') }} as seq_num,
    cast({{ read_timestamp('mimic4_hosp.procedures_icd', 'chartdate') }} as date) as chartdate,
    {{ read_code('icd_code') }} as icd_code,
    {{ read_integer('mimic4_hosp.procedures_icd', 'icd_version') }} as icd_version
from {{ source('mimic4_hosp', 'procedures_icd') }}
