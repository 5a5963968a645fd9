with source as (
    select * from {{ source('yier', 'records') }}
),

typed as (
    select
        cast(line_number as integer) as line_number,
        {{ read_cell('record') }} as record
    from source
)

select * from typed
