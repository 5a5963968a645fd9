-- What no rule removes is an example, and the first rule sees every note.
select attrition.*
from {{ ref('mtsamples_attrition') }} as attrition
where
    (
        attrition.step_number = 1
        and attrition.rows_in <> (select count(*) from {{ ref('int_mtsamples__notes') }})
    )
    or (
        attrition.step_number = (
            select max(rules.step_number) from {{ ref('mtsamples_attrition_rules') }} as rules
        )
        and attrition.rows_out <> (select count(*) from {{ ref('mtsamples_procedures') }})
    )
