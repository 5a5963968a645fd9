with lines as (
    select * from {{ ref('int_cdm__radiology_lines') }}
),

headings as (
    select * from {{ ref('radiology_section_headings') }}
),

heading_words as (
    select * from {{ ref('radiology_heading_words') }}
),

misspelt_headings as (
    select * from {{ ref('int_cdm__radiology_misspelt_headings') }}
),

lines_of_findings as (
    select distinct
        note_id,
        line_number
    from misspelt_headings
    where part = 'findings'
),

-- What a heading leads to is shown only behind a heading of findings, so only there it matters.
lines_in_order as (
    select
        lines.note_id,
        lines.line_number,
        lines.line_shadow,
        position(':' in lines.line_shadow) as heading_end,
        lines.report_line,
        count(
            case
                when
                    lines_of_findings.note_id is not null
                    or position('FINDING' in {{ ascii_upper('lines.line_shadow') }}) > 0
                    then 1
            end
        ) over (
            partition by lines.note_id
            order by lines.line_number
            rows between unbounded preceding and 1 preceding
        ) as findings_count
    from lines
    left join lines_of_findings
        on
            lines.note_id = lines_of_findings.note_id
            and lines.line_number = lines_of_findings.line_number
),

-- Capitals up to a colon, and no full stop between. Letters that have no case are capitals too.
capital_headings as {{ materialized() }} (
    select
        note_id,
        line_number,
        trim(leading ' *#=~>-.)(0123456789' from left(line_shadow, heading_end - 1)) as heading,
        left(report_line, heading_end - 1) = left(line_shadow, heading_end - 1) as is_ascii
    from lines_in_order
    where
        findings_count > 0
        and {{ matches('line_shadow', "'^[^a-z:]{1,80}:'") }}
        and (
            {{ matches('line_shadow', "'^[^:]*[A-Z]'") }}
            or (
                {{ matches('line_shadow', "'^[^:]*_'") }}
                and position('_' in left(report_line, heading_end)) = 0
            )
        )
        and not {{ matches('line_shadow', "'^[^:]*[A-Z][^:]*[.;] +[^:]*[A-Z]'") }}
),

different_headings as (
    select distinct
        heading,
        is_ascii
    from capital_headings
),

words as (
    select
        heading,
        is_ascii,
        {{ parts_between_matches(
            replace_all(
                "replace(heading, '''', '')", "'FINDINGS([A-Z])'", "'FINDINGS \\1'"
            ),
            "'[^A-Z0-9]+'",
            'word',
            'word_number'
        ) }}
    from different_headings
),

-- Parts of the body, levels of the spine (L4-5) and ways of examining them make a heading known, if
-- the other words of it only join them.
headings_of_the_body as (
    select
        words.heading,
        words.is_ascii
    from words
    left join heading_words on words.word = heading_words.word
    where words.word <> ''
    group by words.heading, words.is_ascii
    having
        min(
            case
                when {{ matches('words.word', "'^[CTLS]?[0-9]{1,2}$'") }} then 1
                when heading_words.kind in ('body', 'examination', 'joining') then 1
                else 0
            end
        ) = 1
        and max(
            case
                when {{ matches('words.word', "'^[CTLS][0-9]{1,2}$'") }} then 1
                when heading_words.kind in ('body', 'examination') then 1
                else 0
            end
        ) = 1
),

-- Those that the patterns know. They are ASCII.
headings_of_a_part as (
    select different_headings.heading
    from different_headings
    inner join headings
        on
            (
                headings.part = 'other'
                and {{ starts_with('different_headings.heading', 'headings.heading') }}
            )
            or (
                headings.part = 'conclusion'
                and headings.is_told_by_capital
                and position(headings.heading in different_headings.heading) > 0
            )
            or (
                headings.part in ('conclusion', 'findings')
                and trim(trailing ' *=~' from different_headings.heading)
                in (headings.heading, headings.heading || 'S', headings.heading || '(S)')
            )
    where different_headings.is_ascii
    group by different_headings.heading
),

final as (
    select
        capital_headings.note_id,
        capital_headings.line_number,
        capital_headings.heading
    from capital_headings
    left join headings_of_the_body
        on
            capital_headings.heading = headings_of_the_body.heading
            and capital_headings.is_ascii = headings_of_the_body.is_ascii
    left join headings_of_a_part
        on
            capital_headings.is_ascii
            and capital_headings.heading = headings_of_a_part.heading
    left join misspelt_headings
        on
            capital_headings.note_id = misspelt_headings.note_id
            and capital_headings.line_number = misspelt_headings.line_number
    where
        headings_of_the_body.heading is null
        and headings_of_a_part.heading is null
        and misspelt_headings.note_id is null
)

select * from final
