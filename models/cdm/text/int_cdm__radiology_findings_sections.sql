-- The findings of each report. Headings are marked in the text with the letter of their part (f is
-- unsure findings), the text is split at the marks, and only what follows a heading of findings is
-- kept. Sub-headings ("LIVER:") split nothing: they share the fate of what they stand in.
with notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

headings as (
    select * from {{ ref('radiology_section_headings') }}
),

patterns as materialized (
    {{ radiology_heading_forms() | indent(4) }}
),

-- A note of two admissions is one text.
texts as (
    select
        note_id,
        min({{ text_order('text') }}) as report
    from notes
    group by note_id
),

-- Reports are marked by the hundred: DuckDB translates a pattern that comes from a table anew for
-- every text, which costs more than the search.
numbered_texts as (
    select
        note_id,
        report,
        row_number() over (order by {{ text_order('note_id') }}) as text_number
    from texts
),

batched_texts as materialized (
    select
        note_id,
        cast(floor(text_number / 100.0) as integer) as batch,
        text_number,
        chr(10) || {{ radiology_plain_text('report') }} || chr(10) as report
    from numbered_texts
),

batches as materialized (
    select
        batch,
        min(text_number) as first_text_number,
        string_agg(report, {{ report_end() }} order by text_number) as texts
    from batched_texts
    group by batch
),

with_findings as materialized (
    select
        batches.batch,
        {{ marked_headings(
            marked_headings(
                marked_headings('batches.texts', 'patterns.findings_line', 'F', findings_start()),
                'patterns.findings_within_line', 'F', findings_start()
            ),
            'patterns.glued_findings', 'F', findings_start() ~ " || chr(10) || '\\3'"
        ) }} as texts
    from batches
    cross join patterns
),

with_unsure_findings as materialized (
    select
        with_findings.batch,
        {{ marked_headings(
            marked_headings(
                'with_findings.texts', 'patterns.unsure_findings', 'f', findings_start()
            ),
            'patterns.unsure_findings_line', 'f', findings_start() ~ ' || chr(10)'
        ) }} as texts
    from with_findings
    cross join patterns
),

with_conclusions as materialized (
    select
        with_unsure_findings.batch,
        {{ marked_headings(
            marked_headings(
                marked_headings(
                    marked_headings(
                        'with_unsure_findings.texts', 'patterns.told_conclusions', 'C'
                    ),
                    'patterns.told_conclusion_lines', 'C'
                ),
                'patterns.conclusions', 'C'
            ),
            'patterns.starting_conclusions', 'C'
        ) }} as texts
    from with_unsure_findings
    cross join patterns
),

-- What stands on the line before the word that tells the conclusion belongs to its heading, if it
-- is in capitals too, a number or a sign.
with_whole_conclusions as materialized (
    select
        batch,
        regexp_replace(
            texts,
            '\n *((?:[A-Z/&,-]+[ /]+){1,5}|[-*#=~>0-9.)( ]+)' || {{ heading_start() }} || 'C',
            chr(10) || {{ heading_start() }} || 'C\1',
            'g'
        ) as texts
    from with_conclusions
),

with_others as materialized (
    select
        with_whole_conclusions.batch,
        {{ marked_headings(
            marked_headings('with_whole_conclusions.texts', 'patterns.others_line', 'O'),
            'patterns.others_within_line', 'O'
        ) }} as texts
    from with_whole_conclusions
    cross join patterns
),

with_sub_headings as materialized (
    select
        batch,
        regexp_replace(
            texts, '\n *([A-Z][-A-Z ,._]*:)', chr(10) || {{ sub_heading_start() }} || '\1', 'g'
        ) as texts
    from with_others
),

marked_texts as (
    select
        batches.first_text_number + parts.place - 1 as text_number,
        parts.report
    from with_sub_headings
    inner join batches on with_sub_headings.batch = batches.batch
    cross join
        lateral unnest(string_to_array(with_sub_headings.texts, {{ report_end() }}))
        with ordinality as parts (report, place)
),

-- The first piece is what stands before any heading.
pieces as (
    select
        marked_texts.text_number,
        parts.piece_number,
        left(parts.piece, 1) as part,
        substr(parts.piece, 2) as piece
    from marked_texts
    cross join
        lateral unnest(string_to_array(marked_texts.report, {{ heading_start() }}))
        with ordinality as parts (piece, piece_number)
),

pieces_in_order as (
    select
        text_number,
        piece_number,
        part,
        piece,
        lag(part) over (
            partition by text_number order by piece_number asc nulls last
        ) as part_before,
        lag(piece) over (
            partition by text_number order by piece_number asc nulls last
        ) as piece_before,
        count(case when part = 'C' and piece_number > 1 then 1 end) over (
            partition by text_number
            order by piece_number asc nulls last
            rows between unbounded preceding and current row
        ) as conclusion_count
    from pieces
),

findings as (
    select
        text_number,
        piece_number,
        split_part(piece, {{ findings_start() }}, 1) as heading,
        split_part(piece, {{ findings_start() }}, 2) as body
    from pieces_in_order
    where
        piece_number > 1
        and (
            (part = 'f' and conclusion_count = 0)
            -- "IMPRESSION: FINDINGS:" and "SUMMARYFINDINGS:" are conclusions.
            or (
                part = 'F'
                and (
                    part_before <> 'C'
                    or piece_number = 2
                    or piece_before !~ '^[A-Za-z()]+( [A-Za-z()]+)?[^A-Za-z\n]*$'
                )
            )
        )
),

-- What stands before the first sub-heading belongs to the heading of the findings.
parts_of_findings as (
    select
        findings.text_number,
        findings.piece_number,
        parts.part_number,
        case
            when parts.part_number = 1 then findings.heading
            else left(parts.part, strpos(parts.part, ':') - 1)
        end as heading,
        case
            when parts.part_number = 1 then parts.part
            else substr(parts.part, strpos(parts.part, ':') + 1)
        end as body
    from findings
    cross join
        lateral unnest(string_to_array(findings.body, {{ sub_heading_start() }}))
        with ordinality as parts (part, part_number)
),

final as (
    select
        batched_texts.note_id,
        cast(
            row_number() over (
                partition by parts_of_findings.text_number
                order by
                    parts_of_findings.piece_number asc nulls last,
                    parts_of_findings.part_number asc nulls last
            ) as integer
        ) as section_number,
        trim(parts_of_findings.heading, ' *=~') as heading,
        {{ trimmed('parts_of_findings.body') }} as body
    from parts_of_findings
    inner join batched_texts on parts_of_findings.text_number = batched_texts.text_number
    where {{ trimmed('parts_of_findings.body') }} <> ''
)

select * from final
