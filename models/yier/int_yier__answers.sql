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

-- An answer that stands alone is a list of one.
bare_answers as (
    select
        line_number,
        1 as answer_position,
        {{ json_text('record', 'answer_choices') }} as answer_text
    from records
    where {{ json_kind('record', 'answer_choices') }} in ('string', 'number')
),

all_answers as (
    select * from answers
    union all
    select * from bare_answers
),

-- Blanks are no answer.
final as (
    select
        line_number,
        cast(answer_position as integer) as answer_position,
        {{ trimmed('answer_text') }} as answer_text
    from all_answers
    where {{ exact_text('answer_text') }} <> ''
)

select * from final
