{{ config(severity='warn') }}

-- Short names of the disease ("appy") and misspelt ones ("appendicits") stay under all rules, and
-- are counted here.
select
    field,
    term,
    sum(hit_count) as hit_count,
    count(distinct hadm_id) as case_count
from {{ ref('cdm_leaks') }}
where kind = 'other_name'
group by field, term
