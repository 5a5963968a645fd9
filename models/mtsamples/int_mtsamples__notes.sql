with notes as (
    select * from {{ ref('stg_mtsamples__notes') }}
),

-- Only a line feed ends a line from here on.
unified as (
    select
        filename,
        replace(
            replace(note_text, {{ carriage_return() }} || {{ line_feed() }}, {{ line_feed() }}),
            {{ carriage_return() }},
            {{ line_feed() }}
        ) as note_text
    from notes
),

final as (
    select
        cast(
            row_number() over (order by {{ text_order('filename') }} asc) - 1 as integer
        ) as source_index,
        filename,
        {{ replace_first('filename', "'[.][Tt][Xx][Tt]$'", "''") }} as example_id,
        {{ trimmed('note_text') }} as note_text
    from unified
)

select * from final
