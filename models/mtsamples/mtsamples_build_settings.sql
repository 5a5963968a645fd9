with notes as (
    select * from {{ ref('stg_mtsamples__notes') }}
),

final as (
    select
        '{{ mtsamples_rule_version() }}' as rule_version,
        '{{ mtsamples_truncation() }}' as truncation,
        cast(count(*) as bigint) as note_count,
        md5(
            string_agg(
                concat(md5(filename), md5(note_text)), '' order by {{ text_order('filename') }}
            )
        ) as notes_md5
    from notes
)

select * from final
