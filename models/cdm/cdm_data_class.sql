with patients as (
    select * from {{ ref('stg_cdm__patients') }}
),

discharge as (
    select * from {{ ref('stg_cdm__discharge') }}
),

radiology as (
    select * from {{ ref('stg_cdm__radiology') }}
),

provided_extracts as (
    select hadm_id from {{ ref('stg_cdm__discharge_free_text') }}
    union all
    select hadm_id from {{ ref('stg_cdm__discharge_diagnosis') }}
    union all
    select hadm_id from {{ ref('stg_cdm__procedures') }}
),

open_sources as (
    select * from {{ ref('cdm_open_sources') }}
),

patient_content as (
    select
        count(*) as patient_count,
        coalesce(
            md5(
                string_agg(
                    concat(
                        subject_id, '|', coalesce(gender, ''), '|', anchor_age, '|', anchor_year
                    ),
                    ';' order by subject_id
                )
            ),
            ''
        ) as patients_md5
    from patients
),

-- Only where the patients are those of an open source are the notes, which are large, read for it.
known_patients as (
    select open_sources.*
    from open_sources
    inner join patient_content on open_sources.patients_md5 = patient_content.patients_md5
),

notes as (
    select
        'discharge' as note_table,
        note_id,
        text
    from discharge
    union all
    select
        'radiology' as note_table,
        note_id,
        text
    from radiology
),

note_content as (
    select
        md5(
            string_agg(
                concat(note_table, '|', note_id, '|', md5(coalesce(text, ''))),
                ';' order by note_table, {{ text_order('note_id') }}
            )
        ) as notes_md5
    from notes
    where (select count(*) from known_patients) > 0
),

-- Open only if every table with content of patients is, as a whole, that of an open source: a part
-- of it, or extracts of unknown origin, may be credentialed data.
final as (
    select
        cast(patient_content.patient_count as bigint) as patient_count,
        patient_content.patients_md5,
        note_content.notes_md5,
        known_patients.edition,
        case
            when known_patients.edition is null then 'credentialed'
            when known_patients.notes_md5 <> note_content.notes_md5 then 'credentialed'
            when (select count(*) from provided_extracts) > 0 then 'credentialed'
            else 'open'
        end as data_class
    from patient_content
    cross join note_content
    left join known_patients on patient_content.patients_md5 = known_patients.patients_md5
)

select * from final
