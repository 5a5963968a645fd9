"""The nine statements of a case; every parameter is its hadm_id."""

from __future__ import annotations

DEMOGRAPHICS = """
    select patients.anchor_age, patients.gender
    from admissions
    inner join patients on admissions.subject_id = patients.subject_id
    where admissions.hadm_id = ?
"""
HISTORY = """
    select history_of_present_illness, past_medical_history
    from discharge_free_text
    where hadm_id = ?
"""
EXAM = "select physical_examination from discharge_free_text where hadm_id = ?"
LABS = """
    with events as (
        select * from labevents where hadm_id = ?
        union all
        select * from labevents_assigned where hadm_id = ?
    )

    select
        events.itemid, d_labitems.label, d_labitems.fluid, d_labitems.category,
        events.value, events.valuenum, events.valueuom, events.flag, events.comments,
        events.ref_range_lower, events.ref_range_upper,
        events.charttime, events.storetime, events.labevent_id,
        (select min(chartdate) from procedures_icd where hadm_id = ?) as first_procedure
    from events
    inner join d_labitems on events.itemid = d_labitems.itemid
"""
CULTURES = """
    with events as (
        select * from microbiologyevents where hadm_id = ?
        union all
        select * from microbiologyevents_assigned where hadm_id = ?
    )

    select
        test_itemid, test_name, spec_type_desc, org_name, comments, charttime, storetime,
        (select min(chartdate) from procedures_icd where hadm_id = ?) as first_procedure
    from events
"""
RADIOLOGY = """
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
"""
DIAGNOSES = (
    "select title from discharge_diagnosis where hadm_id = ? and is_primary order by seq_num"
)
CODED_TREATMENTS = """
    select titles.long_title, trim(done.icd_code)
    from procedures_icd as done
    inner join d_icd_procedures as titles
        on trim(done.icd_code) = trim(titles.icd_code) and done.icd_version = titles.icd_version
    where done.hadm_id = ?
    order by done.seq_num, done.icd_version, done.icd_code collate "C"
"""
OTHER_TREATMENTS = """
    select title
    from procedures
    where hadm_id = ? and coalesce(is_previous, false) = false
    order by seq_num
"""
