select
    {{ read_integer('mimic4_hosp.d_labitems', 'itemid') }} as itemid,
    {{ read_cell('label') }} as label,
    {{ read_cell('fluid') }} as fluid,
    {{ read_cell('category') }} as category
from {{ source('mimic4_hosp', 'd_labitems') }}
