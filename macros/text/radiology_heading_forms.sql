{#- The forms in which headings stand in reports, as patterns: one row. The words come from the
    relation `headings`, and are first put as patterns that find them in capitals, with a capital
    first letter and in any case. Each form has two groups: what stands before the heading, and the
    heading. -#}
{% macro radiology_heading_forms() -%}
with letters as (
    select
        headings.heading,
        positions.letter_position,
        substr(headings.heading, cast(positions.letter_position as integer), 1) as letter
    from headings
    cross join generate_series(1, 40) as positions (letter_position)
    where positions.letter_position <= length(headings.heading)
),

letter_patterns as (
    select
        heading,
        letter_position,
        case
            when letter = ' ' then '[ \n]+'
            when letter ~ '[A-Z]' then letter
            else '[' || letter || ']'
        end as in_capitals,
        case
            when letter = ' ' then '[ \n]+'
            when letter ~ '[A-Z]' then '[' || letter || lower(letter) || ']'
            else '[' || letter || ']'
        end as in_any_case
    from letters
),

heading_patterns as (
    select
        heading,
        string_agg(in_capitals, '' order by letter_position) as in_capitals,
        string_agg(
            case when letter_position = 1 then in_capitals else in_any_case end,
            '' order by letter_position
        ) as capitalised,
        string_agg(in_any_case, '' order by letter_position) as in_any_case
    from letter_patterns
    group by heading
),

kinds as (
    select
        heading,
        case when is_told_by_capital then 'conclusion told by its capital' else part end as kind
    from headings
    where not stands_alone
),

kind_patterns as (
    select
        kinds.kind,
        '(?:' || string_agg(
            heading_patterns.in_capitals, '|' order by {{ text_order('kinds.heading') }}
        ) || ')' as in_capitals,
        '(?:' || string_agg(
            heading_patterns.capitalised, '|' order by {{ text_order('kinds.heading') }}
        ) || ')' as capitalised,
        '(?:' || string_agg(
            heading_patterns.in_any_case, '|' order by {{ text_order('kinds.heading') }}
        ) || ')' as in_any_case
    from heading_patterns
    inner join kinds on heading_patterns.heading = kinds.heading
    group by kinds.kind
)

select
    -- Headings of findings need a colon: "FINDINGS CONSISTENT WITH ..." stands in impressions. At
    -- the start of a line with a capital, within a line in capitals ("bypass.FINDINGS:").
    '({{ line_start() }})(' || findings.capitalised || '{{ plural() }}[*=~ ]*){{ colon() }}'
        as findings_line,
    '({{ sentence_start() }}|: *|[A-Za-z0-9])(' || findings.in_capitals
    || '{{ plural() }} *){{ colon() }}' as findings_within_line,
    -- Or glued to a sub-heading in capitals, which is a third group: "FINDINGSCT PELVIS:".
    '({{ line_start() }}|{{ sentence_start() }}|: *|[A-Za-z0-9])(' || findings.in_capitals
    || 'S)([A-Z][-A-Z ,]{0,40}:)' as glued_findings,
    -- Forms that running text also takes, so they count only before the first conclusion:
    -- "Findings:" within a line or without a capital, and a line of that word alone or a dash.
    '({{ line_start() }}|{{ sentence_start() }})(' || findings.in_any_case
    || '{{ plural() }} *){{ colon() }}' as unsure_findings,
    '({{ line_start() }})(' || findings.capitalised
    || '{{ plural() }}[*=~ ]*)(?:\n|{{ colon_or_dash() }}|- )' as unsure_findings_line,
    -- A conclusion is told by the capital of its word, wherever that stands ("IMPRESSION 1.",
    -- "scanImpression"), or in any case by a colon or dash behind it, at most a few words later.
    -- Otherwise "gives the impression of" is running text and stays.
    '()(' || told_conclusions.capitalised
    || '|' || told_conclusions.in_any_case
    || '(?:{{ heading_tail() }}{{ colon_or_dash() }}|{{ plural() }} *[;=/&+]'
    || '|[^.:;!?' || {{ heading_start() }} || {{ report_end() }}
    || ']{0,40}{{ colon_or_dash() }}))' as told_conclusions,
    -- Or by a short line that ends in it: "Findings and impression".
    '(\n)( *(?:[A-Za-z/&,()-]+[ /]+){0,4}' || told_conclusions.in_any_case
    || '{{ plural() }}[ )\]*]*\n)' as told_conclusion_lines,
    -- Words that are no heading by themselves need a colon or a dash.
    '([^0-9A-Z_a-z])(' || conclusions.in_any_case || '{{ heading_tail() }}{{ colon_or_dash() }})'
        as conclusions,
    -- Or the start of a line or sentence: in capitals, before a number or a sign, or alone.
    '(\n *[-*#>(]* *[0-9]{0,2}[.)]? *|{{ sentence_start() }})('
    || conclusions.in_capitals || '[^0-9A-Z_a-z]'
    || '|' || conclusions.capitalised || '{{ plural() }} *[-;,=(#/0-9]'
    || '|' || conclusions.capitalised || '{{ plural() }} *\n)' as starting_conclusions,
    -- Other headings end the findings: at the start of a line with a colon or alone, in capitals
    -- also before a dash or as the beginning of a longer heading. A heading that is only a mask
    -- may have been any of them.
    '({{ line_start() }})(' || others.in_any_case
    || '{{ plural() }} *(?:\n|(?:[(][^()\n]{0,60}[)])? *{{ colon() }})'
    || '|' || others.in_capitals
    || '(?:[-A-Z0-9 ,._/()&''#]*{{ colon() }}|{{ plural() }} *(?:-|{{ colon_or_dash() }}))'
    || '|_{2,}[ _.]*{{ colon() }})' as others_line,
    -- Within a line with a capital and a colon.
    '({{ sentence_start() }}|: *|[a-z0-9]|[a-z0-9,] +)('
    || others.in_capitals || '[-A-Z0-9 ,/()&''#]{0,40}{{ colon() }}'
    || '|' || others.capitalised || '{{ plural() }} *{{ colon() }})' as others_within_line
from kind_patterns as findings
inner join kind_patterns as told_conclusions
    on
        findings.kind = 'findings'
        and told_conclusions.kind = 'conclusion told by its capital'
inner join kind_patterns as conclusions on conclusions.kind = 'conclusion'
inner join kind_patterns as others on others.kind = 'other'
{%- endmacro %}
