with records as (
    select * from {{ ref('stg_yier__records') }}
),

texts as (
    select
        line_number,
        {{ json_kind('record', 'sample_id') }} as id_kind,
        {{ trimmed(json_text('record', 'sample_id')) }} as sample_id,
        {{ trimmed(json_text('record', 'context')) }} as context,
        {{ json_text('record', 'question') }} as question,
        {{ json_text('record', 'source') }} as question_source
    from records
),

-- An id of blanks is none, nor is a value that is no text; nor is a context of blanks one, but its
-- question stays.
final as (
    select
        line_number,
        case
            when id_kind in ('string', 'number') and {{ exact_text('sample_id') }} <> ''
                then sample_id
        end as sample_id,
        case when {{ exact_text('context') }} <> '' then context end as context,
        question,
        question_source
    from texts
)

select * from final
