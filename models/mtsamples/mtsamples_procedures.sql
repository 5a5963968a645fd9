with notes as (
    select * from {{ ref('int_mtsamples__notes') }}
),

headings as (
    select * from {{ ref('int_mtsamples__headings') }}
),

inputs as (
    select * from {{ ref('int_mtsamples__inputs') }}
),

answers as (
    select * from {{ ref('int_mtsamples__references') }}
),

final as (
    select
        notes.example_id,
        notes.source_index,
        notes.filename,
        headings.medical_specialty,
        headings.sample_name,
        answers.extracted_section,
        inputs.question,
        answers.answer,
        '{{ var('mtsamples_truncation') }}' as truncation,
        position(answers.answer in inputs.question) > 0 as leak
    from answers
    inner join notes on answers.source_index = notes.source_index
    inner join inputs on answers.source_index = inputs.source_index
    inner join headings on answers.source_index = headings.source_index
)

select * from final
