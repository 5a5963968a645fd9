with records as (
    select * from {{ ref('stg_yier__records') }}
),

texts as (
    select
        line_number,
        cast(record as json) ->> 'sample_id' as sample_id,
        {{ trimmed("cast(record as json) ->> 'context'") }} as context,
        cast(record as json) ->> 'question' as question,
        cast(record as json) ->> 'source' as question_source
    from records
),

-- A context of blanks is none; the question stays.
final as (
    select
        line_number,
        sample_id,
        nullif(context, '') as context,
        question,
        question_source
    from texts
)

select * from final
