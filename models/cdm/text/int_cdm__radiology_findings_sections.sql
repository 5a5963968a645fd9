{#- The words of the headings, by what they lead to, as patterns that find them in capitals, with a
    capital first letter and in any case. -#}
{%- set words = {'findings': [], 'told_conclusion': [], 'conclusion': [], 'other': []} -%}
{%- for heading in seed_rows(
    'radiology_section_headings',
    ['heading', 'part', 'is_told_by_capital', 'stands_alone'],
    text_order('heading')
) if not heading.stands_alone -%}
    {%- do words['told_conclusion' if heading.is_told_by_capital else heading.part].append(
        heading.heading
    ) -%}
{%- endfor -%}
{%- set in_capitals, capitalised, in_any_case = {}, {}, {} -%}
{%- for part, headings in words.items() -%}
    {%- do in_capitals.update({part: heading_pattern(headings, 'in capitals')}) -%}
    {%- do capitalised.update({part: heading_pattern(headings, 'capitalised')}) -%}
    {%- do in_any_case.update({part: heading_pattern(headings, 'in any case')}) -%}
{%- endfor -%}

{#- Parts of the patterns: a colon, or a sign that reads as one. -#}
{%- set colon -%}
    [:
    {%- for row in seed_rows('radiology_look_alikes', ['sign', 'look_alikes'], 'sign')
        if row.sign == ':' -%}
        {{ row.look_alikes }}
    {%- endfor -%}
    ]
{%- endset -%}

{#- A colon, or a dash in its place; no hyphen within a word. -#}
{%- set colon_or_dash -%} (?:{{ colon }}|--|[{{ "\u2012-\u2015" }}]|[ \n]-+[ \n]) {%- endset -%}
{%- set plural -%} (?:[Ss]|[(][Ss][)])? {%- endset -%}

{#- Whatever may stand between the words of a heading and its colon: "(S)", "(PRELIM)", "#1", "**";
    no other heading. -#}
{%- set heading_tail -%}
    {{ plural }}[ \n]*(?:[(\[][^()\n' || {{ heading_start() }} || ']{0,60}[)\]])?[ \n0-9#.)*_]*
{%- endset -%}

{#- The start of a line, with what decorates a heading. -#}
{%- set line_start -%} \n[*#=~> -]* {%- endset -%}

{#- The start of a sentence within a line, or of a column. -#}
{%- set sentence_start -%} [.!?;)\]] *|  + {%- endset -%}

{#- The forms in which headings stand in reports. Each has two groups: what stands before the
    heading, and the heading. -#}

{#- Headings of findings need a colon: "FINDINGS CONSISTENT WITH ..." stands in impressions. At the
    start of a line with a capital, within a line in capitals ("bypass.FINDINGS:"). -#}
{%- set findings_line -%}
    '({{ line_start }})({{ capitalised.findings }}{{ plural }}[*=~ ]*){{ colon }}'
{%- endset -%}
{%- set findings_within_line -%}
    '({{ sentence_start }}|: *|[A-Za-z0-9])({{ in_capitals.findings }}
    {{- plural }} *){{ colon }}'
{%- endset -%}

{#- Or glued to a sub-heading in capitals, which is a third group: "FINDINGSCT PELVIS:". -#}
{%- set glued_findings -%}
    '({{ line_start }}|{{ sentence_start }}|: *|[A-Za-z0-9])({{ in_capitals.findings }}
    {{- '' }}S)([A-Z][-A-Z ,]{0,40}:)'
{%- endset -%}

{#- Forms that running text also takes, so they count only before the first conclusion: "Findings:"
    within a line or without a capital, and a line of that word alone or a dash. -#}
{%- set unsure_findings -%}
    '({{ line_start }}|{{ sentence_start }})({{ in_any_case.findings }}
    {{- plural }} *){{ colon }}'
{%- endset -%}
{%- set unsure_findings_line -%}
    '({{ line_start }})({{ capitalised.findings }}
    {{- plural }}[*=~ ]*)(?:\n|{{ colon_or_dash }}|- )'
{%- endset -%}

{#- A conclusion is told by the capital of its word, wherever that stands ("IMPRESSION 1.",
    "scanImpression"), or in any case by a colon or dash behind it, at most a few words later.
    Otherwise "gives the impression of" is running text and stays. -#}
{%- set told_conclusions -%}
    '()({{ capitalised.told_conclusion }}|{{ in_any_case.told_conclusion }}(?:
    {{- heading_tail }}{{ colon_or_dash }}|{{ plural }} *[;=/&+]|[^.:;!?'
    || {{ heading_start() }} || ']{0,40}{{ colon_or_dash }}))'
{%- endset -%}

{#- Or by a short line that ends in it: "Findings and impression". -#}
{%- set told_conclusion_lines -%}
    '(\n)( *(?:[A-Za-z/&,()-]+[ /]+){0,4}{{ in_any_case.told_conclusion }}
    {{- plural }}[ )\]*]*\n)'
{%- endset -%}

{#- Words that are no heading by themselves need a colon or a dash. -#}
{%- set conclusions -%}
    '([^0-9A-Z_a-z])({{ in_any_case.conclusion }}{{ heading_tail }}{{ colon_or_dash }})'
{%- endset -%}

{#- Or the start of a line or sentence: in capitals, before a number or a sign, or alone. -#}
{%- set starting_conclusions -%}
    '(\n *[-*#>(]* *[0-9]{0,2}[.)]? *|{{ sentence_start }})(
    {{- in_capitals.conclusion }}[^0-9A-Z_a-z]
    {{- '|' }}{{ capitalised.conclusion }}{{ plural }} *[-;,=(#/0-9]
    {{- '|' }}{{ capitalised.conclusion }}{{ plural }} *\n)'
{%- endset -%}

{#- Other headings end the findings: at the start of a line with a colon or alone, in capitals also
    before a dash or as the beginning of a longer heading. A heading that is only a mask may have
    been any of them. -#}
{%- set others_line -%}
    '({{ line_start }})({{ in_any_case.other }}
    {{- plural }} *(?:\n|(?:[(][^()\n]{0,60}[)])? *{{ colon }})
    {{- '|' }}{{ in_capitals.other }}(?:[-A-Z0-9 ,._/()&''#]*{{ colon }}|{{ plural }} *(?:-|
    {{- colon_or_dash }}))
    {{- '|' }}_{2,}[ _.]*{{ colon }})'
{%- endset -%}

{#- Within a line with a capital and a colon. -#}
{%- set others_within_line -%}
    '({{ sentence_start }}|: *|[a-z0-9]|[a-z0-9,] +)({{ in_capitals.other }}[-A-Z0-9 ,/()&''#]{0,40}
    {{- colon }}|{{ capitalised.other }}{{ plural }} *{{ colon }})'
{%- endset -%}

-- The findings of each report. Headings are marked in the text with the letter of their part (f is
-- unsure findings), the text is split at the marks, and only what follows a heading of findings is
-- kept. Sub-headings ("LIVER:") split nothing: they share the fate of what they stand in.
with notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

heading_places as (
    select * from {{ ref('int_cdm__radiology_heading_places') }}
),

-- A note of two admissions is one text.
texts as (
    select
        note_id,
        min({{ text_order('text') }}) as report
    from notes
    group by note_id
),

plain_texts as {{ materialized() }} (
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
        {{ parts_of('plain_texts.report', line_feed(), 'report_line', 'line_number') }}
    from plain_texts
    inner join placed_notes on plain_texts.note_id = placed_notes.note_id
),

placed_headings as (
    select
        placed_lines.note_id,
        placed_lines.line_number,
        placed_lines.report_line,
        heading_places.part,
        left(placed_lines.report_line, heading_places.place - 1) as text_before,
        substr(
            placed_lines.report_line, heading_places.place, heading_places.heading_length
        ) as heading,
        substr(
            placed_lines.report_line, heading_places.place + heading_places.heading_length
        ) as text_behind
    from placed_lines
    left join heading_places
        on
            placed_lines.note_id = heading_places.note_id
            and placed_lines.line_number = heading_places.line_number
),

-- Headings that no pattern finds are marked first, by their place.
marked_lines as (
    select
        note_id,
        line_number,
        case part
            when 'findings'
                then
                    text_before || {{ heading_start() }} || 'f' || heading
                    || {{ findings_start() }}
                    || {{ replace_first(
                        'text_behind', "'^[ *=~]*(?:" ~ colon_or_dash ~ ")?'", "''"
                    ) }}
            when 'conclusion'
                then text_before || {{ heading_start() }} || 'C' || heading || text_behind
            when 'other'
                then text_before || {{ heading_start() }} || 'O' || heading || text_behind
            else report_line
        end as report_line
    from placed_headings
),

marked_reports as (
    select
        note_id,
        {{ joined_texts('report_line', line_feed(), order_by='line_number') }} as report
    from marked_lines
    group by note_id
),

reports as {{ materialized() }} (
    select
        plain_texts.note_id,
        {{ line_feed() }}
        || coalesce(marked_reports.report, plain_texts.report)
        || {{ line_feed() }} as report
    from plain_texts
    left join marked_reports on plain_texts.note_id = marked_reports.note_id
),

with_findings as {{ materialized() }} (
    select
        note_id,
        {{ marked_headings(
            marked_headings(
                'report', [findings_line, findings_within_line], 'F', findings_start()
            ),
            [glued_findings], 'F', findings_start() ~ ' || ' ~ line_feed() ~ " || '\\3'"
        ) }} as report
    from reports
),

with_unsure_findings as {{ materialized() }} (
    select
        note_id,
        {{ marked_headings(
            marked_headings('report', [unsure_findings], 'f', findings_start()),
            [unsure_findings_line], 'f', findings_start() ~ ' || ' ~ line_feed()
        ) }} as report
    from with_findings
),

with_conclusions as {{ materialized() }} (
    select
        note_id,
        {{ marked_headings(
            'report',
            [told_conclusions, told_conclusion_lines, conclusions, starting_conclusions],
            'C'
        ) }} as report
    from with_unsure_findings
),

-- What stands on the line before the word that tells the conclusion belongs to its heading, if it
-- is in capitals too, a number or a sign.
with_whole_conclusions as {{ materialized() }} (
    select
        note_id,
        {{ replace_all(
            'report',
            "'\\n *((?:[A-Z/&,-]+[ /]+){1,5}|[-*#=~>0-9.)( ]+)' || " ~ heading_start() ~ " || 'C'",
            line_feed() ~ ' || ' ~ heading_start() ~ " || 'C\\1'"
        ) }} as report
    from with_conclusions
),

-- Before the first heading of findings or a conclusion there is nothing to end.
from_first_heading as {{ materialized() }} (
    select
        note_id,
        substr(report, position({{ heading_start() }} in report)) as report
    from with_whole_conclusions
    where position({{ heading_start() }} in report) > 0
),

with_others as {{ materialized() }} (
    select
        note_id,
        {{ marked_headings('report', [others_line, others_within_line], 'O') }} as report
    from from_first_heading
),

with_sub_headings as {{ materialized() }} (
    select
        note_id,
        {{ replace_all(
            'report',
            "'\\n *([A-Z][-A-Z ,._]*:)'",
            line_feed() ~ ' || ' ~ sub_heading_start() ~ " || '\\1'"
        ) }} as report
    from with_others
),

-- The first piece is what stands before any heading.
lettered_pieces as (
    select
        note_id,
        {{ parts_of('report', heading_start(), 'lettered_piece', 'piece_number') }}
    from with_sub_headings
),

pieces as (
    select
        note_id,
        piece_number,
        left(lettered_piece, 1) as part,
        substr(lettered_piece, 2) as piece
    from lettered_pieces
),

pieces_in_order as (
    select
        note_id,
        piece_number,
        part,
        piece,
        lag(part) over (
            partition by note_id order by piece_number asc nulls last
        ) as part_before,
        lag(piece) over (
            partition by note_id order by piece_number asc nulls last
        ) as piece_before,
        count(case when part = 'C' and piece_number > 1 then 1 end) over (
            partition by note_id
            order by piece_number asc nulls last
            rows between unbounded preceding and current row
        ) as conclusion_count
    from pieces
),

findings as (
    select
        note_id,
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
                    or not {{ matches(
                        'piece_before', "'^[A-Za-z()]+( [A-Za-z()]+)?[^A-Za-z\\n]*$'"
                    ) }}
                )
            )
        )
),

parts_of_findings as (
    select
        note_id,
        piece_number,
        heading,
        {{ parts_of('body', sub_heading_start(), 'part', 'part_number') }}
    from findings
),

-- What stands before the first sub-heading belongs to the heading of the findings.
headed_parts as (
    select
        note_id,
        piece_number,
        part_number,
        case
            when part_number = 1 then heading else left(part, position(':' in part) - 1)
        end as heading,
        case
            when part_number = 1 then part else substr(part, position(':' in part) + 1)
        end as body
    from parts_of_findings
),

final as (
    select
        note_id,
        cast(
            row_number() over (
                partition by note_id
                order by piece_number asc nulls last, part_number asc nulls last
            ) as integer
        ) as section_number,
        trim(both ' *=~' from heading) as heading,
        {{ trimmed('body') }} as body
    from headed_parts
    where {{ trimmed('body') }} <> ''
)

select * from final
