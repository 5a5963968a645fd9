select
    {{ read_integer('mimic4_hosp.diagnoses_icd', 'hadm_id') }} as hadm_id,
    {{ read_integer('mimic4_hosp.diagnoses_icd', 'seq_num') }} as seq_num,
    {{ read_code('icd_code') }} as icd_code,
    {{ read_integer('mimic4_hosp.diagnoses_icd', 'icd_version') }} as icd_version
from {{ source('mimic4_hosp', 'diagnoses_icd') }}
