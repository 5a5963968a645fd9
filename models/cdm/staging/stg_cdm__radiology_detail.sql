select
    {{ read_cell('note_id') }} as note_id,
    {{ read_cell('field_name') }} as field_name,
    {{ read_cell('field_value') }} as field_value,
    {{ read_integer('mimic4_note.radiology_detail', 'field_ordinal') }} as field_ordinal
from {{ source('mimic4_note', 'radiology_detail') }}
