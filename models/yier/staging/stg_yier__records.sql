select
    cast(line_number as integer) as line_number,
    {{ read_cell('record') }} as record
from {{ source('yier', 'records') }}
