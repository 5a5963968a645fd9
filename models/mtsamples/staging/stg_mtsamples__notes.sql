with source as (
    select * from {{ source('mtsamples', 'notes') }}
),

typed as (
    select
        {{ raw_text('filename') }} as filename,
        {{ raw_text('text') }} as note_text
    from source
)

select * from typed
