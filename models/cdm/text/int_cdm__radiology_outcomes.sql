with notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

exams as (
    select * from {{ ref('int_cdm__radiology_exams') }}
),

sections as (
    select * from {{ ref('int_cdm__radiology_sections') }}
),

patterns as (
    select * from {{ ref('int_cdm__scrub_patterns') }}
),

section_texts as (
    select
        note_id,
        {{ joined_texts(
            "heading || ':' || " ~ line_feed() ~ " || body",
            line_feed() ~ ' || ' ~ line_feed(),
            order_by='section_number'
        ) }} as report
    from sections
    group by note_id
),

-- Only a report that may be kept needs the scrub.
notes_with_sections as (
    select
        notes.hadm_id,
        notes.note_id,
        notes.exam_name,
        exams.modality,
        exams.region,
        notes.charttime,
        notes.copy_count,
        {{ trimmed('section_texts.report') }} as report
    from notes
    left join exams on notes.note_id = exams.note_id
    left join section_texts on notes.note_id = section_texts.note_id
),

final as (
    select
        notes.hadm_id,
        notes.note_id,
        notes.exam_name,
        notes.modality,
        notes.region,
        notes.charttime,
        notes.copy_count,
        {{ scrubbed('notes.report', 'patterns') }} as text,
        case
            when notes.exam_name is null then 'no_exam_name'
            when notes.modality is null then 'unknown_modality'
            when notes.region is null then 'no_region'
            when notes.report is null then 'no_findings_section'
            else 'kept'
        end as outcome
    from notes_with_sections as notes
    left join patterns on notes.hadm_id = patterns.hadm_id
)

select * from final
