select
    -- A code is text with its leading zeros; typed databases pad it with blanks (CHAR).
    rtrim({{ read_text('icd9_code') }}) as icd9_code,
    {{ read_text('short_title') }} as short_title,
    {{ read_text('long_title') }} as long_title
from {{ source('mimic3', 'd_icd_diagnoses') }}
