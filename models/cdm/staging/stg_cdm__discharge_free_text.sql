select
    {{ read_integer('cdm_note_extract.discharge_free_text', 'hadm_id') }} as hadm_id,
    {{ read_cell('history_of_present_illness') }} as history_of_present_illness,
    {{ read_cell('past_medical_history') }} as past_medical_history,
    {{ read_cell('physical_examination') }} as physical_examination
from {{ source('cdm_note_extract', 'discharge_free_text') }}
