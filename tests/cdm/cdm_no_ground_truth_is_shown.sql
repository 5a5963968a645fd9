{{ config(severity='error' if var('cdm_rules') == 'specification' else 'warn') }}

-- What is shown of a case must not hold the title of the diagnosis that names its disease, nor a
-- section of the discharge note that was written after the fact.
with shown_texts as (
    select
        hadm_id,
        'history_of_present_illness' as field,
        history_of_present_illness as shown_text
    from {{ ref('cdm_cases') }}
    union all
    select
        hadm_id,
        'physical_exams' as field,
        physical_exams as shown_text
    from {{ ref('cdm_cases') }}
    union all
    select
        hadm_id,
        'radiology_reports' as field,
        text as shown_text
    from {{ ref('int_cdm__shown_radiology_reports') }}
),

naming_titles as (
    select
        diagnoses.hadm_id,
        lower(diagnoses.title) as title
    from {{ ref('cdm_diagnoses') }} as diagnoses
    inner join {{ ref('cdm_cases') }} as cases on diagnoses.hadm_id = cases.hadm_id
    where
        diagnoses.is_primary
        and position(cases.pathology in lower(diagnoses.title)) > 0
),

shown_diagnoses as (
    select
        shown_texts.hadm_id,
        shown_texts.field,
        'diagnosis' as shown
    from shown_texts
    inner join naming_titles on shown_texts.hadm_id = naming_titles.hadm_id
    where position(naming_titles.title in lower(shown_texts.shown_text)) > 0
),

shown_sections as (
    select
        hadm_id,
        field,
        'section' as shown
    from shown_texts
    where
        {{ matches_in_any_case(
            'shown_text',
            "'discharge (diagnosis|condition|medications|instructions|disposition) *:'"
        ) }}
        or {{ matches_in_any_case(
            'shown_text', "'(brief hospital course|major surgical or invasive procedure) *:'"
        ) }}
)

select * from shown_diagnoses
union all
select * from shown_sections
