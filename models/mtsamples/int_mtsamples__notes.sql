with notes as (
    select * from {{ ref('stg_mtsamples__notes') }}
),

-- Only a line feed ends a line from here on.
unified as (
    select
        filename,
        replace(
            replace(note_text, concat(chr(13), chr(10)), chr(10)), chr(13), chr(10)
        ) as note_text
    from notes
),

final as (
    select
        cast(
            row_number() over (order by {{ text_order('filename') }} asc) - 1 as integer
        ) as source_index,
        filename,
        regexp_replace(filename, '[.][Tt][Xx][Tt]$', '') as example_id,
        {{ trimmed('note_text') }} as note_text
    from unified
)

select * from final
