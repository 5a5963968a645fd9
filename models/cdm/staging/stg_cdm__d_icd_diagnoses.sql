select
    {{ read_code('icd_code') }} as icd_code,
    {{ read_integer('mimic4_hosp.d_icd_diagnoses', 'icd_version') }} as icd_version,
    {{ read_cell('long_title') }} as long_title
from {{ source('mimic4_hosp', 'd_icd_diagnoses') }}
