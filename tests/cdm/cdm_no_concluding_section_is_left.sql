{{ config(severity='error' if var('cdm_rules') == 'specification' else 'warn') }}

-- The reference drops sections by the start of their heading, at the start of a line only.
select * from {{ ref('cdm_leaks') }}
where kind = 'concluding_section'
