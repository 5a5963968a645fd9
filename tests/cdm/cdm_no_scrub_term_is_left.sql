{{ config(severity='error' if var('cdm_rules') == 'specification' else 'warn') }}

-- The reference scrubs whole words, and neither laboratory results nor cultures.
select * from {{ ref('cdm_leaks') }}
where kind = 'scrub_term'
