with selection as (
    select * from {{ ref('int_cdm__selection') }}
),

lab_results as (
    select * from {{ ref('int_cdm__lab_results') }}
),

culture_rows as (
    select * from {{ ref('int_cdm__culture_rows') }}
),

microbiology_events as (
    select * from {{ ref('int_cdm__microbiology_events') }}
),

-- The reference has some reports twice; here each counts once.
radiology_reports as (
    select * from {{ ref('int_cdm__radiology_reports') }}
    where copy_number = 1
),

excluded as (
    {% for stage, source in [
        ('cohort', 'selection'),
        ('lab_results', 'lab_results'),
        ('microbiology_rows', 'culture_rows'),
        ('microbiology_events', 'microbiology_events'),
        ('radiology_reports', 'radiology_reports'),
    ] %}
        select
            '{{ stage }}' as stage,
            exclusion
        from {{ source }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

final as (
    select
        stage,
        exclusion,
        count(*) as row_count
    from excluded
    group by stage, exclusion
)

select * from final
