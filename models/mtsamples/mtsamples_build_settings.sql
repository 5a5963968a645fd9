-- The version of the rules by which a note becomes an example: a change of what is extracted is a
-- new one.
with notes as (
    select * from {{ ref('stg_mtsamples__notes') }}
),

final as (
    select
        '1' as rule_version,
        '{{ var('mtsamples_truncation') }}' as truncation,
        cast(count(*) as bigint) as note_count,
        md5(
            {{ joined_texts(
                'concat(md5(filename), md5(note_text))', "''", order_by=text_order('filename')
            ) }}
        ) as notes_md5
    from notes
)

select * from final
