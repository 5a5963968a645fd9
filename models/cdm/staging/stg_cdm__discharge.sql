select
    {{ read_cell('note_id') }} as note_id,
    {{ read_integer('mimic4_note.discharge', 'subject_id') }} as subject_id,
    {{ read_integer('mimic4_note.discharge', 'hadm_id') }} as hadm_id,
    {{ read_cell('note_type') }} as note_type,
    {{ read_integer('mimic4_note.discharge', 'note_seq') }} as note_seq,
    {{ read_timestamp('mimic4_note.discharge', 'charttime') }} as charttime,
    {{ read_cell('text') }} as text
from {{ source('mimic4_note', 'discharge') }}
