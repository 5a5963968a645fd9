with notes as (
    select * from {{ ref('int_cdm__discharge_notes') }}
),

sections as (
    select * from {{ ref('int_cdm__discharge_sections') }}
),

-- An empty section is a missing one, as an empty cell of a provided extract is.
section_texts as (
    select
        hadm_id,
        max(case when section = 'history_of_present_illness' then text end) as history,
        max(case when section = 'past_medical_history' then text end) as past_history,
        max(case when section = 'physical_exam' then text end) as exam
    from sections
    group by hadm_id
),

final as (
    select
        notes.hadm_id,
        nullif(section_texts.history, '') as history_of_present_illness,
        nullif(section_texts.past_history, '') as past_medical_history,
        nullif(section_texts.exam, '') as physical_examination
    from notes
    left join section_texts on notes.hadm_id = section_texts.hadm_id
)

select * from final
