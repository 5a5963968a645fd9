with headings as (
    select * from {{ ref('radiology_section_headings') }}
),

heading_parts as (
    select
        headings.heading,
        parts.word
    from headings
    cross join
        lateral unnest(string_to_array(headings.heading, ' ')) as parts (word)
),

-- How many letters may be left out is told by the longest word: "KEY FINDING" is near to others.
longest_words as (
    select
        heading,
        max({{ most_letters_left_out('word') }}) as most_left_out
    from heading_parts
    group by heading
),

-- Blanks and hyphens do not count. Of headings that differ by these alone, one is enough.
numbered_words as (
    select
        regexp_replace(headings.heading, '[^A-Z]', '', 'g') as word,
        headings.heading,
        headings.part,
        headings.stands_alone,
        longest_words.most_left_out,
        row_number() over (
            partition by regexp_replace(headings.heading, '[^A-Z]', '', 'g')
            order by {{ text_order('headings.heading') }}
        ) as place
    from headings
    inner join longest_words on headings.heading = longest_words.heading
),

words as (
    select
        word,
        heading,
        part,
        stands_alone,
        most_left_out
    from numbered_words
    where place = 1
),

-- A plural is one letter more, which a short heading does not allow.
spellings as (
    {{ shortened_spellings('words') | indent(4) }}
    union all
    select
        word,
        word || 'S' as spelling,
        0 as left_out
    from words
    where most_left_out = 0
),

final as (
    select
        spellings.spelling,
        spellings.left_out,
        words.word,
        words.heading,
        words.part,
        words.stands_alone,
        words.most_left_out
    from spellings
    inner join words on spellings.word = words.word
)

select * from final
