select
    {{ read_integer('cdm_note_extract.cohort_list', 'list_position') }} as list_position,
    {{ read_integer('cdm_note_extract.cohort_list', 'hadm_id') }} as hadm_id
from {{ source('cdm_note_extract', 'cohort_list') }}
