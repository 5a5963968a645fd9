-- A maximum of texts cannot spill to disk on DuckDB, one of whole numbers can. The texts are few;
-- their rank in byte order stands for them.
with event_values as (
    select * from {{ ref('int_mimic3__event_values') }}
    where charted_text is not null
),

texts as (
    select distinct charted_text from event_values
),

final as (
    select
        charted_text,
        cast(row_number() over (order by {{ text_order('charted_text') }} asc) as integer)
            as text_rank,
        case
            when {{ is_number('charted_text') }} then {{ number_from_text('charted_text') }}
        end as charted_number
    from texts
)

select * from final
