-- Headings that the patterns of `int_cdm__radiology_findings_sections` do not find, since they are
-- misspelt, written apart, or have letters beyond ASCII. Each step works on different texts only.
with lines as (
    select * from {{ ref('int_cdm__radiology_lines') }}
),

heading_words as (
    select * from {{ ref('radiology_heading_words') }}
),

heading_spellings as (
    select * from {{ ref('int_cdm__radiology_heading_spellings') }}
),

-- A dash between blanks stands for a colon.
lines_with_colons as (
    select
        note_id,
        line_number,
        replace(replace(line_shadow, ' -', ' :'), '--', '::') as report_line
    from lines
),

segments as (
    select
        note_id,
        line_number,
        length(report_line) - length(replace(report_line, ':', '')) + 1 as segment_count,
        {{ parts_of('report_line', "':'", 'segment', 'segment_number') }}
    from lines_with_colons
),

-- Where a heading may stand: at the start of a line before a colon, or alone on it; before another
-- colon; and in capitals anywhere. Words that are not in capitals are struck out there.
runs as {{ materialized() }} (
    select
        note_id,
        line_number,
        case
            when segment_count = 1 then 'alone'
            when segment_number = 1 and length(segment) <= 60 then 'line'
            else 'tail'
        end as kind,
        right(segment, 60) as run
    from segments
    where
        segment_number < segment_count
        or (
            segment_count = 1
            and length(segment) <= 40
            and not {{ matches('segment', "'[.,;] *$'") }}
        )
    union all
    select
        note_id,
        line_number,
        'capitals' as kind,
        {{ replace_all('line_shadow', "'[A-Za-z0-9]*[a-z0-9]'", "'|'") }} as run
    from lines
    where {{ matches('line_shadow', "'[A-Z]{5}'") }}
),

different_runs as {{ materialized() }} (
    select distinct
        kind,
        run
    from runs
    where {{ matches('run', "'[A-Za-z]'") }}
),

-- A piece is a word and what stands behind it; the first is what stands before any word. A capital
-- behind a small letter begins a word: "scanIMPRESSION".
pieces as (
    select
        kind,
        run,
        {{ parts_of(
            replace_all(
                'run', "'([A-Z]+[a-z0-9]*|[a-z0-9]+)'", heading_start() ~ " || '\\1'"
            ),
            heading_start(),
            'piece',
            'piece_number'
        ) }}
    from different_runs
),

placed_pieces as (
    select
        kind,
        run,
        piece_number,
        {{ replace_first('piece', "'(?s)[^A-Za-z0-9].*$'", "''") }} as word,
        1 + sum(length(piece)) over (
            partition by kind, run
            order by piece_number
            rows between unbounded preceding and current row
        ) - length(piece) as place
    from pieces
),

words as {{ materialized() }} (
    select
        placed_pieces.kind,
        placed_pieces.run,
        placed_pieces.piece_number,
        placed_pieces.word,
        cast(placed_pieces.place as integer) as place,
        min(placed_pieces.piece_number) over run_words as first_number,
        max(placed_pieces.piece_number) over run_words as last_number,
        count(heading_words.word) over words_so_far as known_count,
        count(case when length(placed_pieces.word) = 1 then 1 end)
            over words_so_far
            as letter_count,
        case when heading_words.word is null then 0 else 1 end as is_known,
        case when length(placed_pieces.word) = 1 then 1 else 0 end as is_letter
    from placed_pieces
    left join heading_words on {{ ascii_upper('placed_pieces.word') }} = heading_words.word
    where placed_pieces.word <> ''
    window
        run_words as (partition by placed_pieces.kind, placed_pieces.run),
        words_so_far as (
            partition by placed_pieces.kind, placed_pieces.run
            order by placed_pieces.piece_number
            rows between unbounded preceding and current row
        )
),

-- Up to three words, or a whole heading, or letters written apart; at an end of what stands before
-- a colon. Words that have a meaning of their own are no misspelling.
word_groups as (
    select
        first_words.kind,
        first_words.run,
        substr(
            first_words.run,
            first_words.place,
            last_words.place + length(last_words.word) - first_words.place
        ) as found_text,
        first_words.kind in ('line', 'alone')
        and first_words.piece_number = first_words.first_number
        and last_words.piece_number = last_words.last_number as is_whole
    from words as first_words
    inner join words as last_words
        on
            first_words.kind = last_words.kind
            and first_words.run = last_words.run
            and first_words.piece_number <= last_words.piece_number
    where
        (
            last_words.piece_number - first_words.piece_number <= 2
            or (
                first_words.kind in ('line', 'alone')
                and first_words.piece_number = first_words.first_number
                and last_words.piece_number = last_words.last_number
            )
            or last_words.letter_count - first_words.letter_count + first_words.is_letter
            = last_words.piece_number - first_words.piece_number + 1
        )
        and (
            first_words.kind = 'capitals'
            or (
                first_words.kind <> 'alone'
                and first_words.piece_number = first_words.first_number
            )
            or last_words.piece_number = last_words.last_number
        )
        and last_words.known_count - first_words.known_count + first_words.is_known
        < last_words.piece_number - first_words.piece_number + 1
),

folded_groups as {{ materialized() }} (
    select
        kind,
        run,
        found_text,
        is_whole,
        {{ ascii_upper(replace_all('found_text', "'[^A-Za-z0-9]'", "''")) }} as word,
        case when is_whole or kind = 'capitals' then 2 else 1 end as most_left_out
    from word_groups
    where position('|' in found_text) = 0
),

-- The shortest headings count only as a whole, since a few letters are soon found.
readable_words as {{ materialized() }} (
    select
        word,
        max(case when length(word) < 5 then 0 else most_left_out end) as most_left_out
    from folded_groups
    where
        length(word) between 3 and 34
        and (is_whole or length(word) >= 6)
    group by word
),

readable_spellings as (
    {{ shortened_spellings('readable_words') | indent(4) }}
),

readings as (
    select
        readable_spellings.word,
        heading_spellings.word as heading_word,
        heading_spellings.heading,
        heading_spellings.part,
        heading_spellings.stands_alone,
        greatest(readable_spellings.left_out, heading_spellings.left_out) as left_out,
        readable_spellings.left_out + heading_spellings.left_out as difference,
        row_number() over (
            partition by readable_spellings.word
            order by
                readable_spellings.left_out + heading_spellings.left_out,
                case when heading_spellings.part = 'conclusion' then 1 else 2 end,
                {{ text_order('heading_spellings.heading') }},
                readable_spellings.left_out,
                {{ text_order('readable_spellings.spelling') }}
        ) as place
    from readable_spellings
    inner join heading_spellings
        on
            readable_spellings.spelling = heading_spellings.spelling
            and readable_spellings.left_out <= heading_spellings.most_left_out
),

-- What ends in a colon is a conclusion wherever it stands; another part only as a whole heading.
read_groups as (
    select
        folded_groups.kind,
        folded_groups.run,
        folded_groups.found_text,
        readings.heading,
        readings.part,
        readings.difference,
        position(readings.heading in {{ ascii_upper('folded_groups.found_text') }}) > 0
            as is_well_spelt,
        readings.stands_alone
        or (
            folded_groups.is_whole
            and readings.part = 'conclusion'
            and {{ matches('folded_groups.found_text', "'^[a-z]'") }}
        ) as has_no_pattern
    from folded_groups
    inner join readings
        on
            folded_groups.word = readings.word
            and folded_groups.most_left_out >= readings.left_out
    where
        readings.place = 1
        and (
            folded_groups.is_whole
            or (
                readings.part = 'conclusion'
                and not readings.stands_alone
                and length(folded_groups.word) >= 6
            )
        )
),

-- The patterns find a heading that is spelt well, unless it has letters beyond ASCII, counts only
-- as a whole heading, or stands on a line without any capital.
final as (
    select distinct
        runs.note_id,
        runs.line_number,
        read_groups.found_text,
        read_groups.heading,
        read_groups.part,
        read_groups.difference
    from runs
    inner join read_groups on runs.kind = read_groups.kind and runs.run = read_groups.run
    inner join lines on runs.note_id = lines.note_id and runs.line_number = lines.line_number
    where
        not read_groups.is_well_spelt
        or read_groups.has_no_pattern
        or position(read_groups.found_text in lines.report_line) = 0
)

select * from final
