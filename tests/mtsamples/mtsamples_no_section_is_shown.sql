-- No section is left in the input, unless that is what the comparison asks for.
select
    examples.example_id,
    sections.section
from {{ ref('mtsamples_procedures') }} as examples
cross join {{ ref('mtsamples_sections') }} as sections
where
    examples.truncation = 'helm'
    and position(sections.header in examples.question) > 0
