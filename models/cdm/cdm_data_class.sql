with patients as (
    select * from {{ ref('stg_cdm__patients') }}
),

source_rows as (
    select * from {{ ref('int_cdm__source_rows') }}
),

open_data as (
    select * from {{ ref('cdm_open_data') }}
),

patient_texts as (
    select
        subject_id,
        concat(
            subject_id, '|', coalesce(gender, ''), '|',
            coalesce(cast(anchor_age as {{ dbt.type_string() }}), ''), '|',
            coalesce(cast(anchor_year as {{ dbt.type_string() }}), '')
        ) as patient
    from patients
),

patient_content as (
    select
        count(*) as patient_count,
        coalesce(
            md5({{ joined_texts('patient', "';'", order_by='subject_id') }}), ''
        ) as patients_md5
    from patient_texts
),

known_patients as (
    select open_data.*
    from open_data
    inner join patient_content on open_data.patients_md5 = patient_content.patients_md5
),

-- Only where the patients are those of an open source are the other tables, which are large, read
-- for it.
source_content as (
    select
        md5(
            {{ joined_texts(
                'concat(source_table, row_md5)',
                "';'",
                order_by=text_order('source_table') ~ ', ' ~ text_order('row_md5')
            ) }}
        ) as content_md5
    from source_rows
    where (select count(*) from known_patients) > 0
),

-- Open only if every table that cases come from is, as a whole, that of an open source: a part of
-- it, or one row of another origin, may be credentialed data. What is missing equals nothing.
final as (
    select
        cast(patient_content.patient_count as bigint) as patient_count,
        patient_content.patients_md5,
        source_content.content_md5,
        known_patients.edition,
        case
            when known_patients.content_md5 = source_content.content_md5 then 'open'
            else 'credentialed'
        end as data_class
    from patient_content
    cross join source_content
    left join known_patients on patient_content.patients_md5 = known_patients.patients_md5
)

select * from final
