with icustays as (
    select * from {{ ref('stg_mimic3__icustays') }}
),

admissions as (
    select * from {{ ref('stg_mimic3__admissions') }}
),

patients as (
    select * from {{ ref('stg_mimic3__patients') }}
),

transfers as (
    select
        *,
        -- A ward or a care unit that is missing on either side counts as a transfer.
        coalesce(first_wardid = last_wardid and first_careunit = last_careunit, false)
            as is_without_transfer
    from icustays
),

joined as (
    select
        transfers.*,
        admissions.admittime,
        admissions.dischtime,
        admissions.deathtime,
        admissions.ethnicity,
        admissions.diagnosis,
        patients.gender,
        patients.dob,
        patients.dod,
        case
            when not transfers.is_without_transfer then 'transfer'
            when admissions.hadm_id is null then 'no_admission'
            when patients.subject_id is null then 'no_patient'
        end as early_exclusion
    from transfers
    left join admissions
        on
            transfers.subject_id = admissions.subject_id
            and transfers.hadm_id = admissions.hadm_id
    left join patients on transfers.subject_id = patients.subject_id
),

-- Counted after the transfers are gone: an admission with two stays, one of them dropped for its
-- transfer, keeps the other.
stays_of_admission as (
    select
        hadm_id,
        count(*) as stay_count
    from joined
    where early_exclusion is null
    group by hadm_id
),

-- A year has 365 days here. A birth date after INTIME gives 90; nothing caps the birth dates that
-- de-identification moved back by 300 years.
ages as (
    select
        joined.*,
        stays_of_admission.stay_count,
        {{ seconds_between('joined.dob', 'joined.intime') }} / 3600 / 24 / 365 as years_since_birth
    from joined
    left join stays_of_admission on joined.hadm_id = stays_of_admission.hadm_id
),

aged as (
    select
        *,
        case when years_since_birth < 0 then 90.0 else years_since_birth end as age
    from ages
),

excluded as (
    select
        subject_id,
        hadm_id,
        icustay_id,
        dbsource,
        last_careunit,
        intime,
        outtime,
        los,
        admittime,
        dischtime,
        deathtime,
        ethnicity,
        diagnosis,
        gender,
        dob,
        dod,
        years_since_birth,
        cast(age as {{ type_double() }}) as age,
        case
            when early_exclusion is not null then early_exclusion
            when stay_count <> 1 then 'several_stays_in_admission'
            when age is null or age < 18 then 'minor'
        end as exclusion
    from aged
)

select * from excluded
