{% set list_is_given = var('cdm_cohort_file') != '' %}
with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

coded_pathologies as (
    select * from {{ ref('int_cdm__coded_pathologies') }}
),

pathologies as (
    select * from {{ ref('int_cdm__pathologies') }}
),

scrub_terms as (
    select distinct
        pathology,
        term
    from {{ ref('cdm_scrub_terms') }}
),

sections as (
    select * from {{ ref('int_cdm__discharge_sections') }}
    where section = 'history_of_present_illness'
),

free_text as (
    select * from {{ ref('int_cdm__free_text') }}
),

primary_diagnoses as (
    select * from {{ ref('int_cdm__discharge_diagnoses') }}
    where is_primary
),

lab_values as (
    select * from {{ ref('int_cdm__lab_values') }}
    where has_known_item and value_origin is not null
),

radiology_outcomes as (
    select * from {{ ref('int_cdm__radiology_outcomes') }}
    where outcome = 'kept'
),

first_coded_pathologies as (
    select
        hadm_id,
        min(pathology_order) as pathology_order
    from coded_pathologies
    group by hadm_id
),

-- Which disease an admission is tried for: the one its discharge diagnosis names, if that is coded;
-- of several coded ones the diagnosis so decides. Otherwise the first that is coded, and the
-- criteria of the diagnosis then fail by themselves. A list needs no codes.
tried as (
    select
        candidates.hadm_id,
        coalesce(
            {% if list_is_given -%}
                pathologies.pathology,
            {%- else -%}
                named_and_coded.pathology,
            {%- endif %}
            first_coded.pathology
        ) as pathology
    from candidates
    left join pathologies on candidates.hadm_id = pathologies.hadm_id
    left join coded_pathologies as named_and_coded
        on
            pathologies.hadm_id = named_and_coded.hadm_id
            and pathologies.pathology = named_and_coded.pathology
    left join first_coded_pathologies on candidates.hadm_id = first_coded_pathologies.hadm_id
    left join coded_pathologies as first_coded
        on
            first_coded_pathologies.hadm_id = first_coded.hadm_id
            and first_coded_pathologies.pathology_order = first_coded.pathology_order
),

-- An extract that was provided stands for its note.
histories as (
    select
        tried.hadm_id,
        tried.pathology,
        free_text.history_of_present_illness,
        free_text.physical_examination,
        sections.hadm_id is not null
        or (
            coalesce(free_text.extract_source = 'provided', false)
            and free_text.history_of_present_illness is not null
        ) as has_history_heading
    from tried
    left join free_text on tried.hadm_id = free_text.hadm_id
    left join sections on tried.hadm_id = sections.hadm_id
),

telling_histories as (
    select distinct histories.hadm_id
    from histories
    inner join scrub_terms
        on
            histories.pathology = scrub_terms.pathology
            and position(
                scrub_terms.term in {{ folded_case('histories.history_of_present_illness') }}
            ) > 0
),

numbered_diagnoses as (
    select
        hadm_id,
        title,
        row_number() over (partition by hadm_id order by seq_num asc) as primary_number
    from primary_diagnoses
),

-- The number of the first primary diagnosis that names the disease.
naming_diagnoses as (
    select
        numbered_diagnoses.hadm_id,
        min(numbered_diagnoses.primary_number) as primary_number
    from numbered_diagnoses
    inner join tried on numbered_diagnoses.hadm_id = tried.hadm_id
    inner join scrub_terms
        on
            tried.pathology = scrub_terms.pathology
            and position(scrub_terms.term in {{ folded_case('numbered_diagnoses.title') }}) > 0
    group by numbered_diagnoses.hadm_id
),

admissions_with_labs as (
    select distinct hadm_id from lab_values
),

admissions_with_abdominal_imaging as (
    select distinct hadm_id from radiology_outcomes
    where region = 'Abdomen'
),

criteria as (
    select
        histories.hadm_id,
        histories.pathology,
        histories.has_history_heading,
        coalesce({{ trimmed('histories.history_of_present_illness') }} <> '', false)
            as has_history,
        telling_histories.hadm_id is null as is_history_silent,
        coalesce(length({{ trimmed('histories.physical_examination') }}) >= 40, false)
            as has_physical_exam,
        admissions_with_labs.hadm_id is not null as has_lab_result,
        admissions_with_abdominal_imaging.hadm_id is not null as has_abdominal_imaging,
        naming_diagnoses.hadm_id is not null as is_primary_diagnosis,
        coalesce(naming_diagnoses.primary_number = 1, false) as is_first_diagnosis
    from histories
    left join telling_histories on histories.hadm_id = telling_histories.hadm_id
    left join admissions_with_labs on histories.hadm_id = admissions_with_labs.hadm_id
    left join admissions_with_abdominal_imaging
        on histories.hadm_id = admissions_with_abdominal_imaging.hadm_id
    left join naming_diagnoses on histories.hadm_id = naming_diagnoses.hadm_id
),

-- An admission leaves at the first criterion that it fails.
final as (
    select
        *,
        {% if list_is_given -%}
            -- Who gives a list has chosen.
            cast(null as {{ dbt.type_string() }})
        {%- else -%}
            case
                when not has_history_heading then 'no_history_heading'
                when not has_history then 'empty_history'
                when not is_history_silent then 'history_names_disease'
                when not has_physical_exam then 'short_physical_exam'
                when not has_lab_result then 'no_lab_result'
                when not has_abdominal_imaging then 'no_abdominal_imaging'
                when not is_primary_diagnosis then 'not_a_primary_diagnosis'
                when not is_first_diagnosis then 'not_the_first_diagnosis'
            end
        {%- endif %} as exclusion
    from criteria
)

select * from final
