select
    {{ read_cell('note_id') }} as note_id,
    {{ read_integer('mimic4_note.radiology', 'subject_id') }} as subject_id,
    {{ read_integer('mimic4_note.radiology', 'hadm_id') }} as hadm_id,
    {{ read_cell('note_type') }} as note_type,
    {{ read_timestamp('mimic4_note.radiology', 'charttime') }} as charttime,
    {{ read_cell('text') }} as text
from {{ source('mimic4_note', 'radiology') }}
