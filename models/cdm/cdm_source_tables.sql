with data_class as (
    select * from {{ ref('cdm_data_class') }}
),

row_counts as (
    {% for table in [
        'admissions', 'd_icd_diagnoses', 'd_icd_procedures', 'd_labitems', 'diagnoses_icd',
        'discharge', 'discharge_diagnosis', 'discharge_free_text', 'labevents',
        'microbiologyevents', 'patients', 'procedures', 'procedures_icd', 'radiology',
        'radiology_detail', 'transfers',
    ] %}
        select
            '{{ table }}' as source_table,
            count(*) as row_count
        from {{ ref('stg_cdm__' ~ table) }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

final as (
    select
        row_counts.source_table,
        row_counts.row_count,
        data_class.edition
    from row_counts
    cross join data_class
)

select * from final
