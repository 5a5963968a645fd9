with notes as (
    select * from {{ ref('stg_cdm__discharge') }}
    where text is not null
),

candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

candidate_notes as (
    select notes.*
    from notes
    inner join candidates on notes.hadm_id = candidates.hadm_id
),

-- An admission has one note; of several the first counts, the others amend it. An addendum (AD)
-- may be numbered before the summary, and stands for it only where there is none.
numbered as (
    select
        hadm_id,
        note_id,
        text,
        row_number() over (
            partition by hadm_id
            order by
                case when note_type = 'AD' then 1 else 0 end asc,
                note_seq asc nulls last,
                charttime asc nulls last,
                {{ text_order('note_id') }} asc nulls last
        ) as note_number
    from candidate_notes
),

final as (
    select
        hadm_id,
        note_id,
        text
    from numbered
    where note_number = 1
)

select * from final
