{%- set rank_by = 'header_position' if var('mtsamples_truncation') == 'helm' else 'priority' -%}
with notes as (
    select * from {{ ref('int_mtsamples__notes') }}
),

headers as (
    select * from {{ ref('int_mtsamples__headers') }}
),

-- The rule decides which header ends the input; also one whose line is empty does.
ranked as (
    select
        source_index,
        header_position,
        row_number() over (
            partition by source_index
            order by {{ rank_by }} asc
        ) as header_rank
    from headers
),

final as (
    select
        notes.source_index,
        {{ trimmed('left(notes.note_text, ranked.header_position - 1)') }} as question
    from notes
    inner join ranked on notes.source_index = ranked.source_index
    where ranked.header_rank = 1
)

select * from final
