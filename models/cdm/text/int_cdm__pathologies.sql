with diagnoses as (
    select * from {{ ref('int_cdm__discharge_diagnoses') }}
    where is_primary
),

terms as (
    select * from {{ ref('cdm_scrub_terms') }}
),

marked_diagnoses as (
    select
        hadm_id,
        seq_num,
        {{ marked_words(folded_case('title')) }} as marked_title
    from diagnoses
),

marked_terms as (
    select
        pathology_order,
        pathology,
        {{ marked_words('term') }} as marked_term
    from terms
),

-- "s/p appendectomy" names appendicitis: its terms are those that are scrubbed.
named_pathologies as (
    select
        marked_diagnoses.hadm_id,
        marked_terms.pathology,
        row_number() over (
            partition by marked_diagnoses.hadm_id
            order by
                marked_diagnoses.seq_num asc nulls last,
                marked_terms.pathology_order asc nulls last,
                {{ text_order('marked_terms.marked_term') }} asc nulls last
        ) as place
    from marked_diagnoses
    inner join marked_terms
        on position(marked_terms.marked_term in marked_diagnoses.marked_title) > 0
),

final as (
    select
        hadm_id,
        pathology
    from named_pathologies
    where place = 1
)

select * from final
