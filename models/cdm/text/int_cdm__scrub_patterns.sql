with pathologies as (
    select * from {{ ref('int_cdm__pathologies') }}
),

terms as (
    select * from {{ ref('cdm_scrub_terms') }}
),

marked_terms as (
    select
        *,
        {{ replace_first('term', "'^.* '", "''") }} as last_word,
        {{ marked_words('term') }} as marked_term
    from terms
),

-- Patterns for any case: the terms are of ASCII letters and blanks.
term_patterns as (
    select
        pathology,
        term_order,
        term,
        last_word,
        {{ any_case_of('term') }} as term_pattern,
        {{ any_case_of('marked_term') }} as marked_term_pattern
    from marked_terms
),

-- What the first and the last of the words share in byte order, all of them share.
word_ranges as (
    select
        pathology,
        min({{ text_order('last_word') }}) as first_word,
        max({{ text_order('last_word') }}) as last_word
    from term_patterns
    group by pathology
),

shared_starts as (
    select
        word_ranges.pathology,
        max(lengths.shared_length) as shared_length
    from word_ranges
    cross join {{ whole_numbers(0, 40, 'lengths', 'shared_length') }}
    where
        left(word_ranges.first_word, cast(lengths.shared_length as integer))
        = left(word_ranges.last_word, cast(lengths.shared_length as integer))
        and lengths.shared_length <= length(word_ranges.first_word)
    group by word_ranges.pathology
),

-- No alternative begins another one, so it is the same to take the first or the longest that fits.
patterns as (
    select
        pathology,
        min(length(term)) as shortest_term,
        min({{ text_order('last_word') }}) as first_word,
        {{ joined_texts('term_pattern', "'|'", order_by='term_order') }} as term_pattern,
        {{ joined_texts('marked_term_pattern', "'|'", order_by='term_order') }}
            as marked_term_pattern
    from term_patterns
    group by pathology
),

final as (
    select
        pathologies.hadm_id,
        pathologies.pathology,
        cast(patterns.shortest_term as integer) as shortest_term,
        left(
            patterns.first_word, cast(shared_starts.shared_length as integer)
        ) as shared_start,
        patterns.term_pattern,
        patterns.marked_term_pattern
    from pathologies
    inner join patterns on pathologies.pathology = patterns.pathology
    inner join shared_starts on pathologies.pathology = shared_starts.pathology
)

select * from final
