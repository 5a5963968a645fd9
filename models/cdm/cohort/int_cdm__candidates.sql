-- Everything about texts and events is computed for these admissions alone, so they come first.
with admissions as (
    select * from {{ ref('stg_cdm__admissions') }}
),

cohort_list as (
    select * from {{ ref('stg_cdm__cohort_list') }}
),

coded_pathologies as (
    select * from {{ ref('int_cdm__coded_pathologies') }}
),

repeated_ids as (
    select
        hadm_id,
        min(list_position) as first_position,
        count(*) as copies
    from cohort_list
    group by hadm_id
    having count(*) > 1
),

first_repeated_id as (
    select
        hadm_id,
        first_position,
        copies
    from repeated_ids
    order by first_position asc
    limit 1
),

listed as (
    select
        cohort_list.list_position,
        case
            when first_repeated_id.hadm_id is null then cohort_list.hadm_id
            else {{ stop_with(
                "concat('the hadm_id in place ', first_repeated_id.first_position, ' of the list of"
                ~ " admissions (cdm_cohort_file) stands ', first_repeated_id.copies,"
                ~ " ' times in it')", 'integer') }}
        end as hadm_id
    from cohort_list
    left join first_repeated_id on true
),

coded as (
    select distinct
        hadm_id,
        cast(null as integer) as list_position
    from coded_pathologies
),

candidates as (
    select
        hadm_id,
        list_position
    from listed
    {% if not var('cdm_cohort_file') -%}
        where false
    {%- endif %}
    union all
    select
        hadm_id,
        list_position
    from coded
    {% if var('cdm_cohort_file') -%}
        where false
    {%- endif %}
),

candidate_admissions as (
    select
        admissions.hadm_id,
        admissions.subject_id
    from admissions
    inner join candidates on admissions.hadm_id = candidates.hadm_id
),

final as (
    select
        candidates.hadm_id,
        candidates.list_position,
        candidate_admissions.subject_id
    from candidates
    left join candidate_admissions on candidates.hadm_id = candidate_admissions.hadm_id
)

select * from final
