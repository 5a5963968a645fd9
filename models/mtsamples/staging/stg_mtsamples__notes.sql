with source as (
    select * from {{ source('mtsamples', 'notes') }}
),

typed as (
    select
        {{ raw_text('filename') }} as filename,
        {{ raw_text('text') }} as note_text,
        {{ raw_text('data_class') }} as data_class
    from source
)

select * from typed
