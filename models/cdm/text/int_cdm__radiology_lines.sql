{#- Letters, colons and dashes beyond ASCII, and those that they read as. -#}
{%- set signs, look_alikes = [], [] -%}
{%- for row in seed_rows('radiology_look_alikes', ['sign', 'look_alikes'], 'sign') -%}
    {%- do signs.append(row.sign * row.look_alikes | length) -%}
    {%- do look_alikes.append(row.look_alikes) -%}
{%- endfor -%}

with notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

-- A note of two admissions is one text.
texts as (
    select
        note_id,
        min({{ text_order('text') }}) as report
    from notes
    group by note_id
),

plain_texts as (
    select
        note_id,
        {{ radiology_plain_text('report') }} as report
    from texts
),

lines as (
    select
        note_id,
        {{ parts_of('report', line_feed(), 'report_line', 'line_number') }}
    from plain_texts
),

-- A heading ends in a colon or a dash, is in capitals, or stands alone on a short line.
lines_with_headings as {{ materialized() }} (
    select
        note_id,
        line_number,
        report_line,
        -- Of the same length, so that what is found in it is cut from the original. Nearly every
        -- line is ASCII, and a translation is slow.
        case
            when bit_length(report_line) = 8 * length(report_line) then report_line
            else translate(report_line, '{{ look_alikes | join }}', '{{ signs | join }}')
        end as plain_line
    from lines
    where
        {{ matches('report_line', "'(:| -|--|[A-Z]{5})'") }}
        or length(report_line) between 3 and 40
        or bit_length(report_line) > 8 * length(report_line)
),

final as (
    select
        note_id,
        cast(line_number as integer) as line_number,
        report_line,
        {{ shadow('plain_line') }} as line_shadow
    from lines_with_headings
)

select * from final
