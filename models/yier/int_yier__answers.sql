with records as (
    select * from {{ ref('stg_yier__records') }}
),

answers as (
    select
        records.line_number,
        choices.place as answer_position,
        choices.answer_text
    from records
    cross join
        {{ json_texts('records.record', 'answer_choices', 'choices', 'answer_text', 'place') }}
),

final as (
    select
        line_number,
        cast(answer_position as integer) as answer_position,
        {{ trimmed('answer_text') }} as answer_text
    from answers
)

select * from final
