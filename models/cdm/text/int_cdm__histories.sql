with free_text as (
    select * from {{ ref('int_cdm__free_text') }}
),

patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

trimmed_histories as {{ materialized() }} (
    select
        hadm_id,
        history_of_present_illness is null as is_history_missing,
        past_medical_history is null as is_past_history_missing,
        coalesce(history_of_present_illness, '') as present_illness,
        coalesce({{ trimmed('past_medical_history') }}, '') as past_history
    from free_text
),

shadowed_histories as {{ materialized() }} (
    select
        *,
        {{ shadow('past_history') }} as shadow
    from trimmed_histories
),

-- One label at the start, with the colon or without: the history gets a label of its own. No word
-- boundary behind it, so the "PMH" of "PMHistory" goes too.
unlabelled_histories as {{ materialized() }} (
    select
        hadm_id,
        is_history_missing,
        is_past_history_missing,
        present_illness,
        right(
            past_history,
            length({{ replace_first(
                ascii_lower('shadow'),
                "'^(past[ \\n]+medical[ \\n]*(and|/)?[ \\n]*surgical[ \\n]+history'"
                ~ " || '|past[ \\n]+medical[ \\n]+history|pmhx/pshx|pmhx|pmh)[ \\n]*:?[ \\n]*'",
                "''"
            ) }})
        ) as past_history
    from shadowed_histories
),

-- Glued before the scrub: a term may begin at the end of the one and end at the start of the other.
histories as {{ materialized() }} (
    select
        hadm_id,
        is_history_missing,
        is_past_history_missing,
        present_illness || {{ line_feed() }} || {{ line_feed() }} || 'Past Medical History: '
        || past_history as history
    from unlabelled_histories
),

final as (
    select
        histories.hadm_id,
        {{ scrubbed('histories.history', 'patterns') }} as history_of_present_illness,
        histories.is_history_missing,
        histories.is_past_history_missing
    from histories
    left join patterns on histories.hadm_id = patterns.hadm_id
)

select * from final
