{#- Spellings of a word that is written with mistakes. Two words are one, if leaving out a few
    letters of each leaves the same letters. A letter that is missing, added, exchanged or moved is
    one left out of a word. The spellings with letters left out are rows, so that words are
    compared by a join. -#}

{#- One row per word of a relation and spelling of it with at most `most_left_out` letters left out,
    and how many are; the columns `word` and `most_left_out` are the relation's. -#}
{% macro shortened_spellings(relation) -%}
select
    word,
    word as spelling,
    0 as left_out
from {{ relation }}
union
select
    {{ relation }}.word,
    left({{ relation }}.word, cast(places.place - 1 as integer))
    || substr({{ relation }}.word, cast(places.place + 1 as integer)) as spelling,
    1 as left_out
from {{ relation }}
cross join {{ whole_numbers(1, 40, 'places', 'place') }}
where
    {{ relation }}.most_left_out >= 1
    and places.place <= length({{ relation }}.word)
union
select
    {{ relation }}.word,
    left({{ relation }}.word, cast(places.place - 1 as integer))
    || substr(
        {{ relation }}.word,
        cast(places.place + 1 as integer),
        cast(later_places.later_place - places.place - 1 as integer)
    )
    || substr({{ relation }}.word, cast(later_places.later_place + 1 as integer)) as spelling,
    2 as left_out
from {{ relation }}
cross join {{ whole_numbers(1, 40, 'places', 'place') }}
cross join {{ whole_numbers(1, 40, 'later_places', 'later_place') }}
where
    {{ relation }}.most_left_out >= 2
    and places.place < later_places.later_place
    and later_places.later_place <= length({{ relation }}.word)
{%- endmacro %}
