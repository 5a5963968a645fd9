with stays as (
    select * from {{ ref('int_mimic3__stay_exclusions') }}
    where exclusion is null
),

test_subjects as (
    select * from {{ ref('test_subjects') }}
),

validation_subjects as (
    select * from {{ ref('validation_subjects') }}
),

-- Both ends count. DOD is a date at midnight, so a death on the day of admission usually fails its
-- half; a comparison with a missing time is false.
deaths as (
    select
        *,
        coalesce(dod between admittime and dischtime, false)
        or coalesce(deathtime between admittime and dischtime, false) as died_in_hospital,
        coalesce(dod between intime and outtime, false)
        or coalesce(deathtime between intime and outtime, false) as died_in_unit
    from stays
),

-- Stays without an episode file use up their number. Equal INTIME and OUTTIME leave the number open
-- in the benchmark; the stay's id decides here, and `mimic3_findings` counts such stays.
numbered as (
    select
        *,
        row_number() over (
            partition by subject_id
            order by intime asc nulls last, outtime asc nulls last, icustay_id asc
        ) as episode
    from deaths
),

final as (
    select
        numbered.subject_id,
        numbered.hadm_id,
        numbered.icustay_id,
        cast(numbered.episode as integer) as episode,
        concat(numbered.subject_id, '_episode', numbered.episode, '_timeseries.csv') as stay,
        case when test_subjects.subject_id is null then 'train' else 'test' end as partition,
        test_subjects.subject_id is null
        and validation_subjects.subject_id is not null as is_validation,
        numbered.last_careunit,
        numbered.dbsource,
        numbered.intime,
        numbered.outtime,
        numbered.los,
        24.0 * numbered.los as los_hours,
        numbered.admittime,
        numbered.dischtime,
        numbered.deathtime,
        -- The hours that the patient lived after INTIME; missing where no death time is known.
        {{ seconds_between('numbered.intime', 'numbered.deathtime') }} / 3600 as lived_hours,
        numbered.ethnicity,
        numbered.diagnosis,
        numbered.gender,
        numbered.dob,
        numbered.dod,
        numbered.age,
        -- For analysis: MIMIC's median age of the patients over 89, never 300.
        case
            when numbered.years_since_birth < 0 then null
            when numbered.years_since_birth > 89 then 91.4
            else numbered.years_since_birth
        end as analysis_age,
        case when numbered.died_in_unit then 1 else 0 end as mortality_inunit,
        case when numbered.died_in_hospital then 1 else 0 end as mortality
    from numbered
    left join test_subjects on numbered.subject_id = test_subjects.subject_id
    left join validation_subjects on numbered.subject_id = validation_subjects.subject_id
)

select * from final
