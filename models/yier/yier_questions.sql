with questions as (
    select * from {{ ref('int_yier__questions') }}
),

options as (
    select * from {{ ref('int_yier__options') }}
),

answers as (
    select * from {{ ref('int_yier__answers') }}
),

record_errors as (
    select * from {{ ref('int_yier__record_errors') }}
),

option_counts as (
    select
        line_number,
        count(*) as option_count
    from options
    group by line_number
),

-- An answer that is given twice counts once.
answer_counts as (
    select
        line_number,
        count(distinct answer_text) as answer_count
    from answers
    group by line_number
),

final as (
    select
        questions.sample_id,
        questions.line_number,
        questions.context,
        questions.question,
        questions.question_source,
        cast(option_counts.option_count as integer) as option_count,
        cast(coalesce(answer_counts.answer_count, 0) as integer) as answer_count,
        answer_counts.line_number is not null as is_labelled
    from questions
    inner join option_counts on questions.line_number = option_counts.line_number
    left join answer_counts on questions.line_number = answer_counts.line_number
    left join record_errors on questions.line_number = record_errors.line_number
    where record_errors.line_number is null
)

select * from final
