with candidates as (
    select * from {{ ref('int_cdm__candidates') }}
),

admission_windows as (
    select * from {{ ref('int_cdm__admission_windows') }}
),

radiology as (
    select * from {{ ref('stg_cdm__radiology') }}
),

radiology_detail as (
    select * from {{ ref('stg_cdm__radiology_detail') }}
),

overrides as (
    select * from {{ ref('cdm_assignment_overrides') }}
),

rows_of_candidates as (
    select
        note_id,
        subject_id,
        hadm_id,
        note_type,
        charttime,
        text
    from radiology
    where
        text is not null
        and (
            {{ may_be_of_a_candidate() | indent(8) }}
        )
),

own as (
    select
        note_id,
        hadm_id,
        false as is_assigned
    from rows_of_candidates
    where hadm_id is not null
),

-- A note in the windows of two overlapping admissions is given to both.
assigned as (
    select
        rows_of_candidates.note_id,
        admission_windows.hadm_id,
        true as is_assigned
    from rows_of_candidates
    inner join admission_windows
        on
            {{ lies_in_window('rows_of_candidates') | indent(8) }}
    where rows_of_candidates.hadm_id is null
),

-- Notes that the user gives to an admission although they lie outside its window.
overridden as (
    select
        rows_of_candidates.note_id,
        overrides.hadm_id,
        true as is_assigned
    from rows_of_candidates
    inner join overrides on rows_of_candidates.note_id = overrides.note_id
    inner join candidates on overrides.hadm_id = candidates.hadm_id
    where rows_of_candidates.hadm_id is null
),

admission_notes as (
    select * from own
    union
    select * from assigned
    union
    select * from overridden
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
        string_agg(
            field_value, ' ' order by field_ordinal asc nulls last, {{ text_order('field_value') }}
        ) as exam_name
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
        admission_notes.is_assigned,
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
        rows_of_candidates.note_type,
        rows_of_candidates.charttime,
        named.is_assigned,
        named.exam_name,
        cast(named.copy_count as integer) as copy_count,
        rows_of_candidates.text
    from named
    inner join rows_of_candidates on named.note_id = rows_of_candidates.note_id
)

select * from final
