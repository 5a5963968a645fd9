with questions as (
    select * from {{ ref('int_yier__questions') }}
),

options as (
    select * from {{ ref('int_yier__options') }}
),

answers as (
    select * from {{ ref('int_yier__answers') }}
),

refused_records as (
    select * from {{ ref('int_yier__refused_records') }}
),

blank_questions as (
    select
        line_number,
        1 as step_number
    from questions
    where coalesce({{ exact_text('question') }}, '') = ''
),

-- The first record of an id stays.
repeated_ids as (
    select
        line_number,
        2 as step_number
    from (
        select
            line_number,
            row_number() over (partition by sample_id order by line_number asc) as id_number
        from questions
    ) as numbered
    where id_number > 1
),

missing_ids as (
    select
        line_number,
        2 as step_number
    from questions
    where sample_id is null
),

option_texts as (
    select
        line_number,
        {{ exact_text('option_text') }} as exact_text
    from options
),

option_counts as (
    select
        line_number,
        count(*) as option_count,
        count(distinct exact_text) as text_count,
        count(nullif(exact_text, '')) as filled_count
    from option_texts
    group by line_number
),

unusable_options as (
    select
        questions.line_number,
        3 as step_number
    from questions
    left join option_counts on questions.line_number = option_counts.line_number
    where
        option_counts.option_count is null
        or option_counts.option_count > 26
        or option_counts.option_count <> option_counts.text_count
        or option_counts.option_count <> option_counts.filled_count
),

answers_outside as (
    select distinct
        answers.line_number,
        4 as step_number
    from answers
    left join options
        on
            answers.line_number = options.line_number
            and answers.answer_text = options.option_text
    where options.option_text is null
),

refused_by_check as (
    select
        line_number,
        5 as step_number
    from refused_records
),

errors as (
    select * from blank_questions
    union all
    select * from repeated_ids
    union all
    select * from missing_ids
    union all
    select * from unusable_options
    union all
    select * from answers_outside
    union all
    select * from refused_by_check
),

-- A record leaves at its first error.
final as (
    select
        line_number,
        min(step_number) as step_number
    from errors
    group by line_number
)

select * from final
