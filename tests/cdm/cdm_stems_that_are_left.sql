{{ config(severity='warn') }}

-- Words that only hint at the diagnosis ("pancreatic", "diverticulosis") stay under all rules, and
-- are counted here.
select
    field,
    term,
    sum(hit_count) as hit_count,
    count(distinct hadm_id) as case_count
from {{ ref('cdm_leaks') }}
where kind = 'stem'
group by field, term
