with outcomes as (
    select * from {{ ref('int_cdm__radiology_outcomes') }}
),

first_procedures as (
    select * from {{ ref('int_cdm__first_procedures') }}
),

kept as (
    select
        outcomes.hadm_id,
        outcomes.note_id,
        outcomes.exam_name,
        outcomes.modality,
        outcomes.region,
        outcomes.charttime,
        outcomes.copy_count,
        outcomes.text,
        -- A procedure has a day and no time, so its whole day is after it.
        coalesce(
            first_procedures.first_procedure_date is null
            or cast(outcomes.charttime as date) < first_procedures.first_procedure_date,
            false
        ) as is_before_first_procedure
    from outcomes
    left join first_procedures on outcomes.hadm_id = first_procedures.hadm_id
    where outcomes.outcome = 'kept'
),

-- The reference counts within a note, so every report is a first one; only a report with several
-- links to a parent comes again.
numbered as (
    {% if cdm_rules() == 'reference' %}
        select
            kept.*,
            copies.sequence_num
        from kept
        inner join generate_series(1, 3) as copies (sequence_num)
            on kept.copy_count >= copies.sequence_num
    {% else %}
        select
            *,
            row_number() over (
                partition by hadm_id, modality, region
                order by charttime asc nulls last, {{ text_order('note_id') }}
            ) as sequence_num
        from kept
    {% endif %}
),

final as (
    select
        hadm_id,
        note_id,
        exam_name,
        modality,
        region,
        charttime,
        text,
        cast(sequence_num as integer) as sequence_num,
        sequence_num = 1 as is_first_result,
        is_before_first_procedure
    from numbered
)

select * from final
