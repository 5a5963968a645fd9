select
    {{ read_integer('mimic4_hosp.patients', 'subject_id') }} as subject_id,
    {{ read_cell('gender') }} as gender,
    {{ read_integer('mimic4_hosp.patients', 'anchor_age') }} as anchor_age,
    {{ read_integer('mimic4_hosp.patients', 'anchor_year') }} as anchor_year
from {{ source('mimic4_hosp', 'patients') }}
