with notes as (
    select * from {{ ref('int_mtsamples__notes') }}
),

headers as (
    select distinct source_index from {{ ref('int_mtsamples__headers') }}
),

answers as (
    select source_index from {{ ref('int_mtsamples__references') }}
),

-- A note leaves at the first thing that it lacks.
final as (
    select
        notes.source_index,
        case
            when notes.note_text = '' then 1
            when headers.source_index is null then 2
            else 3
        end as step_number
    from notes
    left join headers on notes.source_index = headers.source_index
    left join answers on notes.source_index = answers.source_index
    where answers.source_index is null
)

select * from final
