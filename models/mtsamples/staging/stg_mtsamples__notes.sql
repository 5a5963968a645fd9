select
    {{ raw_text('filename') }} as filename,
    {{ raw_text('text') }} as note_text,
    {{ raw_text('data_class') }} as data_class
from {{ source('mtsamples', 'notes') }}
