with headings as (
    select * from {{ ref('radiology_section_headings') }}
),

heading_parts as (
    select
        heading,
        {{ parts_of('heading', "' '", 'word', 'word_number') }}
    from headings
),

-- How many letters may be left out is told by the longest word ("KEY FINDING" is near to others):
-- none of a short one.
longest_words as (
    select
        heading,
        max(
            case when length(word) >= 10 then 2 when length(word) >= 6 then 1 else 0 end
        ) as most_left_out
    from heading_parts
    group by heading
),

letters as (
    select
        heading,
        part,
        stands_alone,
        {{ replace_all('heading', "'[^A-Z]'", "''") }} as word
    from headings
),

-- Blanks and hyphens do not count. Of headings that differ by these alone, one is enough.
numbered_words as (
    select
        letters.word,
        letters.heading,
        letters.part,
        letters.stands_alone,
        longest_words.most_left_out,
        row_number() over (
            partition by letters.word order by {{ text_order('letters.heading') }}
        ) as place
    from letters
    inner join longest_words on letters.heading = longest_words.heading
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
