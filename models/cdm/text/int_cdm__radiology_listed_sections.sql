with notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

headings as (
    select * from {{ ref('radiology_section_headings') }}
),

-- A note of two admissions is one text.
texts as (
    select
        note_id,
        min({{ text_order('text') }}) as report
    from notes
    group by note_id
),

trimmed_texts as (
    select
        note_id,
        {{ trimmed('report') }} as report
    from texts
),

lines as {{ materialized() }} (
    select
        note_id,
        {{ parts_of('report', line_feed(), 'report_line', 'line_number') }}
    from trimmed_texts
),

shadows as {{ materialized() }} (
    select
        note_id,
        line_number,
        report_line,
        {{ shadow('report_line') }} as line_shadow
    from lines
),

-- A line in capitals becomes a heading: without any colon, or as the first line without one at its
-- end.
promoted_lines as {{ materialized() }} (
    select
        note_id,
        line_number,
        case
            when
                {{ matches('line_shadow', "'[A-Z]'") }}
                and not {{ matches('line_shadow', "'[a-z]'") }}
                and (
                    position(':' in report_line) = 0
                    or (line_number = 1 and right(trim(trailing ' ' from line_shadow), 1) <> ':')
                )
                then {{ trimmed('report_line') }} || ':'
            else report_line
        end as report_line
    from shadows
),

-- A heading is made of capitals, blanks, tabs and four signs, and stands at the start of a line.
headed_lines as {{ materialized() }} (
    select
        note_id,
        line_number,
        report_line,
        case
            when {{ matches('report_line', "'^[A-Z \\t,._-]+:'") }}
                then position(':' in report_line)
        end as heading_end
    from promoted_lines
),

numbered_lines as (
    select
        note_id,
        line_number,
        report_line,
        heading_end,
        count(heading_end) over (
            partition by note_id order by line_number rows unbounded preceding
        ) as section_number
    from headed_lines
),

-- What stands before the first heading is lost.
untrimmed_sections as (
    select
        note_id,
        section_number,
        max({{ text_order('left(report_line, cast(heading_end - 1 as integer))') }}) as heading,
        {{ joined_texts(
            'substr(report_line, cast(coalesce(heading_end, 0) + 1 as integer))',
            line_feed(),
            order_by='line_number'
        ) }} as body
    from numbered_lines
    where section_number > 0
    group by note_id, section_number
),

sections as (
    select
        note_id,
        section_number,
        {{ trimmed('heading') }} as heading,
        {{ trimmed('body') }} as body
    from untrimmed_sections
),

-- A heading that comes twice keeps the place of the first and the content of the last.
repeated_sections as (
    select
        note_id,
        heading,
        body,
        min(section_number) over (partition by note_id, heading) as section_number,
        row_number() over (
            partition by note_id, heading order by section_number desc
        ) as place_from_last
    from sections
),

final as (
    select
        note_id,
        cast(section_number as integer) as section_number,
        heading,
        body
    from repeated_sections
    where
        place_from_last = 1
        and body <> ''
        and not exists (
            select 1
            from headings
            where
                headings.is_dropped_by_reference
                and {{ starts_with('repeated_sections.heading', 'headings.heading') }}
        )
)

select * from final
