select
    {{ read_integer('cdm_note_extract.procedures', 'hadm_id') }} as hadm_id,
    {{ read_integer('cdm_note_extract.procedures', 'seq_num') }} as seq_num,
    {{ read_cell('title') }} as title,
    {{ read_boolean('cdm_note_extract.procedures', 'is_previous') }} as is_previous
from {{ source('cdm_note_extract', 'procedures') }}
