-- No part of the body and no way of examining is a misspelt heading of a conclusion, whether or not
-- the words of headings have it; those that they have are never read as one.
with spellings as (
    select * from {{ ref('int_cdm__radiology_heading_spellings') }}
    where part = 'conclusion'
),

heading_words as (
    select * from {{ ref('radiology_heading_words') }}
),

regions as (
    select keyword from {{ ref('radiology_regions') }}
    union
    select keyword from {{ ref('radiology_modalities') }}
),

organs as (
    select distinct
        {{ replace_all('regions.keyword', "'[^A-Z]'", "''") }} as word,
        2 as most_left_out
    from regions
    left join heading_words on regions.keyword = heading_words.word
    where heading_words.word is null
),

organ_spellings as (
    {{ shortened_spellings('organs') | indent(4) }}
)

select
    organ_spellings.word,
    spellings.heading
from organ_spellings
inner join spellings
    on
        organ_spellings.spelling = spellings.spelling
        and organ_spellings.left_out <= spellings.most_left_out
