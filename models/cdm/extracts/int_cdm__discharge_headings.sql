{#- A heading as the heading table writes it: lower case, single blanks, nothing at the ends. Most
    are written in printable ASCII with single blanks, and need little; only the others take the
    costly way. Letters beyond ASCII stay as they are, since the table has none. -#}
{%- set upper_case = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ' -%}
{%- set plain_heading -%}
    translate(
        #,
        {{ white_space() }} || '{{ upper_case }}',
        '{{ ' ' * white_space_code_points() | length }}{{ upper_case | lower }}'
    )
{%- endset -%}
{%- set folded_heading -%}
    case
        when not {{ matches('#', "'([^ -~]|  )'") }} then trim({{ ascii_lower('#') }})
        else trim({{ replace_all(plain_heading, "' +'", "' '") }})
    end
{%- endset -%}

-- A heading is what stands before the first colon of a line, all of it: so `Medications:` is not in
-- `Discharge Medications:`, nor is that in `Past Discharge Medications:`.
with notes as (
    select * from {{ ref('int_cdm__discharge_notes') }}
),

heading_table as (
    select
        section_order,
        section,
        heading,
        nullif(line_before, '') as line_before,
        form
    from {{ ref('discharge_headings') }}
),

note_lines as {{ materialized() }} (
    select
        hadm_id,
        {{ lines_of('text') }} as text_lines
    from notes
),

numbered_lines as (
    select
        hadm_id,
        {{ unnested('text_lines', 'text_line', 'line_number') }}
    from note_lines
),

colon_lines as {{ materialized() }} (
    select
        hadm_id,
        cast(line_number as integer) as line_number,
        split_part(text_line, ':', 1) as heading,
        -- The mask alone, with nothing behind its colon.
        case
            when position('___:' in text_line) > 0 then {{ trimmed('text_line') }} = '___:'
            else false
        end as is_bare_mask
    from numbered_lines
    where position(':' in text_line) between 2 and 80
),

folded_lines as {{ materialized() }} (
    select
        *,
        {{ folded_heading | replace('#', 'heading') }} as folded_heading
    from colon_lines
),

matched as (
    select
        folded_lines.hadm_id,
        folded_lines.line_number,
        folded_lines.heading,
        folded_lines.is_bare_mask,
        heading_table.section_order,
        heading_table.section,
        heading_table.form,
        heading_table.line_before
    from folded_lines
    inner join heading_table on folded_lines.folded_heading = heading_table.heading
),

-- One heading runs over two lines.
with_lines_before as (
    select
        matched.*,
        notes.note_id,
        case
            when matched.line_before is not null and matched.line_number > 1
                then split_part(notes.text, {{ line_feed() }}, matched.line_number - 1)
        end as note_line_before
    from matched
    inner join notes on matched.hadm_id = notes.hadm_id
),

known as (
    select
        hadm_id,
        note_id,
        case when line_before is null then line_number else line_number - 1 end as line_number,
        line_number as colon_line_number,
        case
            when line_before is null then heading
            else note_line_before || {{ line_feed() }} || heading
        end as heading,
        is_bare_mask,
        section_order,
        section,
        form,
        form in ('template', 'masked', 'alias') as is_clear
    from with_lines_before
    where
        line_before is null
        or {{ folded_heading | replace('#', 'note_line_before') }} = line_before
),

-- How far the clear headings before a line have come in the template, and where those behind it
-- go on. A line has either a clear or an unclear heading, so peers in the window are no matter.
placed as (
    select
        *,
        coalesce(
            max(case when is_clear then section_order end) over (
                partition by hadm_id order by colon_line_number asc
            ),
            0
        ) as order_before,
        coalesce(
            min(case when is_clear then section_order end) over (
                partition by hadm_id order by colon_line_number desc
            ),
            1000
        ) as order_behind
    from known
),

history_order as (
    select min(section_order) as section_order
    from heading_table
    where section = 'history_of_present_illness'
),

-- `PE:` also stands in the history of present illness. It counts once a section behind that has
-- begun, and none behind the exam has.
short_forms as (
    select placed.*
    from placed
    inner join history_order
        on
            placed.order_before > history_order.section_order
            and placed.order_before <= placed.section_order
    where placed.form = 'short'
),

-- A masked heading that may be that of several sections, such as `Discharge ___:`, is the one that
-- the headings around it leave out, if they leave out one only. The bare mask has its line alone.
fitting as (
    select
        *,
        count(*) over (partition by hadm_id, colon_line_number) as fitting_sections
    from placed
    where
        form = 'unclear'
        and section_order > order_before
        and section_order < order_behind
        and (is_bare_mask or {{ trimmed('heading') }} <> '___')
),

numbered_fits as (
    select
        *,
        row_number() over (partition by hadm_id, section_order order by colon_line_number asc)
            as fit_number
    from fitting
    where fitting_sections = 1
),

final as (
    {% for source, condition in [
        ('placed', "is_clear or form = 'end'"),
        ('short_forms', 'true'),
        ('numbered_fits', 'fit_number = 1'),
    ] %}
        select
            hadm_id,
            note_id,
            line_number,
            colon_line_number,
            {{ trimmed('heading') }} as heading,
            section_order,
            section,
            form
        from {{ source }}
        where {{ condition }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select * from final
