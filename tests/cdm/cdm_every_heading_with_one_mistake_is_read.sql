-- The spellings are complete: a letter of a heading that is left out, added, exchanged or swapped
-- with its neighbour, at any place, is still read. The rule knows no letters, so two stand for all:
-- one that the headings have often, and one that they have nowhere.
with spellings as (
    select * from {{ ref('int_cdm__radiology_heading_spellings') }}
),

letters as (
    select 'E' as letter
    union all
    select 'Q' as letter
),

headings as (
    select distinct
        word as heading_word,
        most_left_out
    from spellings
    where most_left_out > 0
),

heading_places as (
    select
        headings.heading_word,
        places.place,
        left(headings.heading_word, cast(places.place - 1 as integer)) as beginning,
        substr(headings.heading_word, cast(places.place as integer), 1) as letter,
        substr(headings.heading_word, cast(places.place + 1 as integer), 1) as next_letter,
        substr(headings.heading_word, cast(places.place + 1 as integer)) as rest
    from headings
    cross join {{ whole_numbers(1, 41, 'places', 'place') }}
    where places.place <= length(headings.heading_word) + 1
),

mistakes as (
    select
        heading_word,
        beginning || rest as word
    from heading_places
    where letter <> ''
    union
    select
        heading_places.heading_word,
        heading_places.beginning || letters.letter || heading_places.letter || heading_places.rest
            as word
    from heading_places
    cross join letters
    union
    select
        heading_places.heading_word,
        heading_places.beginning || letters.letter || heading_places.rest as word
    from heading_places
    cross join letters
    where heading_places.letter <> ''
    union
    select
        heading_word,
        beginning || next_letter || letter || substr(rest, 2) as word
    from heading_places
    where next_letter <> ''
),

mistaken_words as (
    select distinct
        word,
        1 as most_left_out
    from mistakes
),

mistaken_spellings as (
    {{ shortened_spellings('mistaken_words') | indent(4) }}
),

read_words as (
    select distinct
        mistaken_spellings.word,
        spellings.word as heading_word
    from mistaken_spellings
    inner join spellings on mistaken_spellings.spelling = spellings.spelling
)

select mistakes.*
from mistakes
left join read_words
    on mistakes.word = read_words.word and mistakes.heading_word = read_words.heading_word
where read_words.word is null
