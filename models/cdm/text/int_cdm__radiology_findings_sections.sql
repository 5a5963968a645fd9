-- The findings of each report. Headings are marked in the text with the letter of their part (f is
-- unsure findings), the text is split at the marks, and only what follows a heading of findings is
-- kept. Sub-headings ("LIVER:") split nothing: they share the fate of what they stand in.
with notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

headings as (
    select * from {{ ref('radiology_section_headings') }}
),

heading_places as (
    select * from {{ ref('int_cdm__radiology_heading_places') }}
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

plain_texts as materialized (
    select
        note_id,
        {{ radiology_plain_text('report') }} as report
    from texts
),

placed_notes as (
    select distinct note_id from heading_places
),

placed_lines as (
    select
        plain_texts.note_id,
        parts.line_number,
        parts.report_line
    from plain_texts
    inner join placed_notes on plain_texts.note_id = placed_notes.note_id
    cross join
        lateral unnest(string_to_array(plain_texts.report, chr(10)))
        with ordinality as parts (report_line, line_number)
),

-- Headings that no pattern finds are marked first, by their place.
marked_lines as (
    select
        placed_lines.note_id,
        placed_lines.line_number,
        case
            when heading_places.part is null then placed_lines.report_line
            else
                left(placed_lines.report_line, heading_places.place - 1)
                || {{ heading_start() }}
                || case heading_places.part
                    when 'conclusion' then 'C' when 'findings' then 'f' else 'O'
                end
                || substr(
                    placed_lines.report_line, heading_places.place, heading_places.heading_length
                )
                || case
                    when heading_places.part = 'findings' then {{ findings_start() }} else ''
                end
                || regexp_replace(
                    substr(
                        placed_lines.report_line,
                        heading_places.place + heading_places.heading_length
                    ),
                    case
                        when heading_places.part = 'findings'
                            then '^[ *=~]*(?:{{ colon_or_dash() }})?'
                        else '^'
                    end,
                    ''
                )
        end as report_line
    from placed_lines
    left join heading_places
        on
            placed_lines.note_id = heading_places.note_id
            and placed_lines.line_number = heading_places.line_number
),

marked_reports as (
    select
        note_id,
        string_agg(report_line, chr(10) order by line_number) as report
    from marked_lines
    group by note_id
),

-- Reports are marked by the hundred: DuckDB translates a pattern that comes from a table anew for
-- every text, which costs more than the search.
numbered_texts as (
    select
        plain_texts.note_id,
        coalesce(marked_reports.report, plain_texts.report) as report,
        row_number() over (order by {{ text_order('plain_texts.note_id') }}) as text_number
    from plain_texts
    left join marked_reports on plain_texts.note_id = marked_reports.note_id
),

batched_texts as materialized (
    select
        note_id,
        cast(floor(text_number / 100.0) as integer) as batch,
        text_number,
        chr(10) || report || chr(10) as report
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
