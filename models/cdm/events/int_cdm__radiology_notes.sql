with radiology_events as (
    select * from {{ ref('int_cdm__radiology_events') }}
    where text is not null
),

event_admissions as (
    select * from {{ ref('int_cdm__event_admissions') }}
    where source_table = 'radiology'
),

radiology_detail as (
    select * from {{ ref('stg_cdm__radiology_detail') }}
),

admission_notes as (
    select
        radiology_events.note_id,
        coalesce(radiology_events.hadm_id, event_admissions.hadm_id) as hadm_id
    from radiology_events
    left join event_admissions
        on
            radiology_events.note_id = event_admissions.event_id
            and radiology_events.hadm_id is null
    where radiology_events.hadm_id is not null or event_admissions.hadm_id is not null
),

-- The names and links of other notes are out of the cohort, and cannot be followed.
details_of_notes as (
    select
        note_id,
        field_name,
        field_value,
        field_ordinal
    from radiology_detail
    where
        field_name in ('exam_name', 'parent_note_id')
        and field_value is not null
        and note_id in (select admission_notes.note_id from admission_notes)
),

exam_names as (
    select
        note_id,
        {{ joined_texts(
            'field_value',
            "' '",
            order_by='field_ordinal asc nulls last, ' ~ text_order('field_value')
        ) }} as exam_name
    from details_of_notes
    where field_name = 'exam_name'
    group by note_id
),

-- An addendum has the name of the report that it belongs to.
parent_links as (
    select
        links.note_id,
        links.field_value as parent_note_id,
        exam_names.exam_name as parent_exam_name
    from details_of_notes as links
    left join exam_names on links.field_value = exam_names.note_id
    where links.field_name = 'parent_note_id'
),

parents as (
    select
        note_id,
        count(*) as link_count,
        count(parent_exam_name) as named_link_count,
        min({{ text_order('parent_exam_name') }}) as parent_exam_name
    from parent_links
    group by note_id
),

named as (
    select
        admission_notes.hadm_id,
        admission_notes.note_id,
        coalesce(exam_names.exam_name, parents.parent_exam_name) as exam_name,
        -- The reference has a report once for every link to a parent.
        case
            when exam_names.exam_name is not null then coalesce(parents.link_count, 1)
            else coalesce(parents.named_link_count, 1)
        end as copy_count
    from admission_notes
    left join exam_names on admission_notes.note_id = exam_names.note_id
    left join parents on admission_notes.note_id = parents.note_id
),

final as (
    select
        named.hadm_id,
        named.note_id,
        radiology_events.note_type,
        radiology_events.charttime,
        named.exam_name,
        cast(named.copy_count as integer) as copy_count,
        radiology_events.text
    from named
    inner join radiology_events on named.note_id = radiology_events.note_id
)

select * from final
