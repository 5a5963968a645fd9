with records as (
    select * from {{ ref('stg_yier__records') }}
),

questions as (
    select * from {{ ref('int_yier__questions') }}
),

options as (
    select * from {{ ref('int_yier__options') }}
),

answers as (
    select * from {{ ref('int_yier__answers') }}
),

open_data as (
    select * from {{ ref('yier_open_data') }}
),

record_counts as (
    select
        count(*) as record_count,
        count(*) filter (
            where {{ json_text('record', 'data_class') }} = 'open'
        ) as records_that_say_so
    from records
),

parts as (
    select {{ row_md5(
        ["'question'", 'line_number', 'sample_id', 'context', 'question', 'question_source']
    ) }} as part_md5
    from questions
    union all
    select {{ row_md5(["'option'", 'line_number', 'option_position', 'option_text']) }} as part_md5
    from options
    union all
    select {{ row_md5(["'answer'", 'line_number', 'answer_position', 'answer_text']) }} as part_md5
    from answers
),

content as (
    select
        md5(
            {{ joined_texts('part_md5', "''", order_by=text_order('part_md5')) }}
        ) as questions_md5
    from parts
),

-- Open only as a whole: the records of an open source, or each of them says so itself.
final as (
    select
        cast(record_counts.record_count as bigint) as record_count,
        content.questions_md5,
        open_data.edition,
        case
            when open_data.edition is not null then 'open'
            when
                record_counts.record_count > 0
                and record_counts.record_count = record_counts.records_that_say_so
                then 'open'
            else 'credentialed'
        end as data_class
    from record_counts
    cross join content
    left join open_data on content.questions_md5 = open_data.questions_md5
)

select * from final
