with event_counts as (
    select * from {{ ref('int_mimic3__event_counts') }}
),

published_row_counts as (
    select * from {{ ref('published_row_counts') }}
),

row_counts as (
    {% for table in ['admissions', 'patients', 'icustays', 'diagnoses_icd', 'd_icd_diagnoses'] %}
        select
            '{{ table }}' as source_table,
            count(*) as row_count
        from {{ ref('stg_mimic3__' ~ table) }}
        union all
    {% endfor %}
    {% for table in ['chartevents', 'labevents', 'outputevents'] %}
        select
            '{{ table }}' as source_table,
            cast(coalesce(sum(event_count), 0) as bigint) as row_count
        from event_counts
        where source_table = '{{ table }}'
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

-- The source is the edition that most of its tables agree with, three at the least.
agreement as (
    select
        published_row_counts.edition,
        count(*) as agreeing_table_count
    from row_counts
    inner join published_row_counts
        on
            row_counts.source_table = published_row_counts.source_table
            and row_counts.row_count = published_row_counts.row_count
    group by published_row_counts.edition
),

ranked_editions as (
    select
        edition,
        row_number() over (
            order by agreeing_table_count desc, {{ text_order('edition') }} asc
        ) as edition_rank
    from agreement
    where agreeing_table_count >= 3
),

expected as (
    select
        row_counts.source_table,
        row_counts.row_count,
        ranked_editions.edition,
        published_row_counts.row_count as expected_row_count
    from row_counts
    left join ranked_editions on ranked_editions.edition_rank = 1
    left join published_row_counts
        on
            ranked_editions.edition = published_row_counts.edition
            and row_counts.source_table = published_row_counts.source_table
),

-- A file cut at a line end shows only here.
complete as (
    select
        source_table,
        edition,
        expected_row_count,
        case
            when row_count = coalesce(expected_row_count, row_count) then row_count
            when not {{ is_true('mimic3_check_row_counts') }} then row_count
            else {{ stop_with(
                "concat(" ~ ascii_upper('source_table') ~ ", case"
                ~ " when row_count < expected_row_count then ' looks truncated'"
                ~ " else ' has too many rows' end,"
                ~ " ': expected ', expected_row_count, ' rows for ', edition, ', found ', row_count,"
                ~ " '; check the file against SHA256SUMS')",
                'bigint'
            ) }}
        end as row_count
    from expected
),

final as (
    select
        source_table,
        cast(row_count as bigint) as row_count,
        edition,
        cast(expected_row_count as bigint) as expected_row_count
    from complete
)

select * from final
