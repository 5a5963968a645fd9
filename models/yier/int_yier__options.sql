with records as (
    select * from {{ ref('stg_yier__records') }}
),

options as (
    select
        records.line_number,
        selection.place as option_position,
        selection.option_text
    from records
    cross join
        {{ json_texts('records.record', 'selection', 'selection', 'option_text', 'place') }}
),

final as (
    select
        line_number,
        cast(option_position as integer) as option_position,
        {{ trimmed('option_text') }} as option_text
    from options
)

select * from final
