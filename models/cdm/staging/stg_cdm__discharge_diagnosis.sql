select
    {{ read_integer('cdm_note_extract.discharge_diagnosis', 'hadm_id') }} as hadm_id,
    {{ read_integer('cdm_note_extract.discharge_diagnosis', 'seq_num') }} as seq_num,
    {{ read_cell('title') }} as title,
    {{ read_boolean('cdm_note_extract.discharge_diagnosis', 'is_primary') }} as is_primary
from {{ source('cdm_note_extract', 'discharge_diagnosis') }}
