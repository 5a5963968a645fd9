select
    {{ read_integer('mimic3.patients', 'subject_id') }} as subject_id,
    {{ read_text('gender') }} as gender,
    {{ read_timestamp('mimic3.patients', 'dob') }} as dob,
    {{ read_timestamp('mimic3.patients', 'dod') }} as dod
from {{ source('mimic3', 'patients') }}
