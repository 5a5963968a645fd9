with cultures as (
    select * from {{ ref('int_cdm__cultures') }}
),

first_procedures as (
    select * from {{ ref('int_cdm__first_procedures') }}
),

result_cap as (
    select * from {{ ref('int_cdm__result_cap') }}
),

numbered as (
    select
        *,
        row_number() over (
            partition by
                hadm_id,
                {% if var('cdm_rules') == 'specification' %}
                    -- Else the first blood culture hides a later urine culture of the same test.
                    spec_type_desc,
                {% endif %}
                test_itemid
            order by
                event_date asc nulls last,
                charttime asc nulls last,
                storetime asc nulls last,
                {{ text_order('spec_type_desc') }} asc nulls last,
                {{ text_order('test_name') }} asc nulls last
        ) as sequence_num
    from cultures
),

-- A procedure has a date and no time, so its whole day is out, and so is a culture without a day.
final as (
    select
        numbered.hadm_id,
        numbered.test_itemid,
        numbered.test_name,
        numbered.spec_type_desc,
        numbered.organism_name,
        numbered.comments,
        numbered.charttime,
        numbered.event_date,
        cast(numbered.sequence_num as integer) as sequence_num,
        case
            when
                not (
                    first_procedures.first_procedure_date is null
                    or coalesce(numbered.event_date < first_procedures.first_procedure_date, false)
                )
                then 'not_before_first_procedure'
            when numbered.sequence_num > result_cap.results_per_test then 'beyond_the_third'
        end as exclusion
    from numbered
    cross join result_cap
    left join first_procedures on numbered.hadm_id = first_procedures.hadm_id
)

select * from final
