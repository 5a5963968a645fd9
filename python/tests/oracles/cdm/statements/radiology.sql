with notes as (
    select * from radiology where hadm_id = ?
    union all
    select * from radiology_assigned where hadm_id = ?
),

parents as (
    select notes.note_id, links.field_ordinal, links.field_value as parent_id
    from radiology_detail as links
    inner join notes on links.note_id = notes.note_id
    where links.field_name = 'parent_note_id'
),

described as (
    select note_id from notes
    union
    select parent_id from parents
),

names as (
    select
        details.note_id,
        string_agg(
            details.field_value, ' '
            order by details.field_ordinal, details.field_value collate "C"
        ) as exam_name
    from radiology_detail as details
    inner join described on details.note_id = described.note_id
    where details.field_name = 'exam_name'
    group by details.note_id
)

select
    notes.note_id, notes.charttime, notes.text,
    coalesce(own.exam_name, of_parent.exam_name) as exam_name,
    (select min(chartdate) from procedures_icd where hadm_id = ?) as first_procedure
from notes
left join parents on notes.note_id = parents.note_id
left join names as own on notes.note_id = own.note_id
left join names as of_parent on parents.parent_id = of_parent.note_id
where notes.text is not null
order by notes.note_id collate "C", parents.field_ordinal
