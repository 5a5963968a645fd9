{% set code_count = 128 %}

with stays as (
    select * from {{ ref('mimic3_stays') }}
    where timeseries_row_count > 0
),

timeseries as (
    select * from {{ ref('mimic3_episode_timeseries') }}
),

diagnoses as (
    select * from {{ ref('int_mimic3__diagnoses') }}
),

episode_diagnoses as (
    select * from {{ ref('episode_diagnoses') }}
),

-- The text before the first dash or slash; ` OR ` counts as a slash.
ethnicities as (
    select
        icustay_id,
        split_part(split_part(replace(ethnicity, ' OR ', '/'), ' - ', 1), '/', 1) as ethnicity
    from stays
),

-- The first value of the episode counts, also one from before or after the stay itself.
{% for variable in ['height', 'weight'] -%}
    ranked_{{ variable }}s as (
        select
            icustay_id,
            {{ variable }},
            row_number() over (
                partition by icustay_id
                order by hours asc, event_icustay_id asc
            ) as place
        from timeseries
        where {{ variable }} is not null
    ),
{% endfor %}
-- The reference's CSV reader takes the codes of a patient for numbers where none has a letter; it
-- then finds none of the listed codes, which are texts.
number_only_subjects as (
    select subject_id
    from diagnoses
    group by subject_id
    having bool_and({{ is_number('icd9_code') }})
),

listed_codes as (
    select
        diagnoses.icustay_id,
        episode_diagnoses.position as code_position
    from diagnoses
    left join number_only_subjects on diagnoses.subject_id = number_only_subjects.subject_id
    left join episode_diagnoses
        on
            diagnoses.icd9_code = episode_diagnoses.icd9_code
            and number_only_subjects.subject_id is null
),

flags as (
    select
        icustay_id,
        {% for code_position in range(1, code_count + 1) -%}
            case when bool_or(code_position = {{ code_position }}) then '1' else '0' end
            {%- if not loop.last %} || {% endif %}
        {% endfor %} as diagnosis_flags
    from listed_codes
    group by icustay_id
),

final as (
    select
        stays.subject_id,
        stays.icustay_id,
        stays.episode,
        stays.stay,
        stays.partition,
        case
            when ethnicities.ethnicity is null then 0
            when ethnicities.ethnicity in ('', 'UNKNOWN') then 0
            when ethnicities.ethnicity in ('UNABLE TO OBTAIN', 'PATIENT DECLINED TO ANSWER') then 0
            when ethnicities.ethnicity = 'ASIAN' then 1
            when ethnicities.ethnicity = 'BLACK' then 2
            when ethnicities.ethnicity = 'HISPANIC' then 3
            when ethnicities.ethnicity = 'WHITE' then 4
            else 5
        end as ethnicity_code,
        case
            when stays.gender is null then 0
            when stays.gender = 'F' then 1
            when stays.gender = 'M' then 2
            else 3
        end as gender_code,
        stays.age,
        ranked_heights.height,
        ranked_weights.weight,
        stays.los,
        stays.mortality,
        flags.diagnosis_flags
    from stays
    inner join ethnicities on stays.icustay_id = ethnicities.icustay_id
    left join ranked_heights
        on
            stays.icustay_id = ranked_heights.icustay_id
            and ranked_heights.place = 1
    left join ranked_weights
        on
            stays.icustay_id = ranked_weights.icustay_id
            and ranked_weights.place = 1
    left join flags on stays.icustay_id = flags.icustay_id
)

select * from final
