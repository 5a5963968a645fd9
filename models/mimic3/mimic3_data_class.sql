with patients as (
    select * from {{ ref('stg_mimic3__patients') }}
),

open_patients as (
    select * from {{ ref('open_patients') }}
),

patient_texts as (
    select
        subject_id,
        concat(
            subject_id, '|', coalesce(gender, ''), '|',
            coalesce(cast(dob as {{ dbt.type_string() }}), ''), '|',
            coalesce(cast(dod as {{ dbt.type_string() }}), '')
        ) as patient
    from patients
),

content as (
    select
        count(*) as patient_count,
        coalesce(
            md5({{ joined_texts('patient', "';'", order_by='subject_id') }}), ''
        ) as patients_md5
    from patient_texts
),

-- Open only if the whole table is that of a published demo; a part of it may be credentialed data.
final as (
    select
        cast(content.patient_count as bigint) as patient_count,
        content.patients_md5,
        open_patients.edition,
        case when open_patients.edition is null then 'credentialed' else 'open' end as data_class
    from content
    left join open_patients on content.patients_md5 = open_patients.patients_md5
)

select * from final
