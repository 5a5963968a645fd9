select
    {{ read_integer('mimic3.diagnoses_icd', 'subject_id') }} as subject_id,
    {{ read_integer('mimic3.diagnoses_icd', 'hadm_id') }} as hadm_id,
    {{ read_integer('mimic3.diagnoses_icd', 'seq_num') }} as seq_num,
    -- A code is text with its leading zeros; typed databases pad it with blanks (CHAR).
    rtrim({{ read_text('icd9_code') }}) as icd9_code
from {{ source('mimic3', 'diagnoses_icd') }}
