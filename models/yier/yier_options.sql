with questions as (
    select * from {{ ref('yier_questions') }}
),

options as (
    select * from {{ ref('int_yier__options') }}
),

right_answers as (
    select distinct
        line_number,
        answer_text
    from {{ ref('int_yier__answers') }}
),

final as (
    select
        questions.sample_id,
        options.option_position,
        substr('ABCDEFGHIJKLMNOPQRSTUVWXYZ', options.option_position, 1) as letter,
        options.option_text,
        case when questions.is_labelled then right_answers.answer_text is not null end as is_answer
    from options
    inner join questions on options.line_number = questions.line_number
    left join right_answers
        on
            options.line_number = right_answers.line_number
            and options.option_text = right_answers.answer_text
)

select * from final
