"""The tables that the cases are read from: typed, and filtered to the listed admissions."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cdm_baseline.databases import Database

SCHEMA = "cdm_baseline"

# The rows of the listed admissions.
OF_ADMISSION = "hadm_id in (select hadm_id from cohort)"
ALL = "true"
LAB_COLUMNS = {
    "labevent_id": "integer",
    "subject_id": "integer",
    "hadm_id": "integer",
    "itemid": "integer",
    "charttime": "timestamp",
    "storetime": "timestamp",
    "value": "text",
    "valuenum": "double precision",
    "valueuom": "text",
    "ref_range_lower": "double precision",
    "ref_range_upper": "double precision",
    "flag": "text",
    "comments": "text",
}
MICRO_COLUMNS = {
    "microevent_id": "integer",
    "subject_id": "integer",
    "hadm_id": "integer",
    "charttime": "timestamp",
    "storetime": "timestamp",
    "spec_type_desc": "text",
    "test_itemid": "integer",
    "test_name": "text",
    "org_name": "text",
    "comments": "text",
}
RADIOLOGY_COLUMNS = {
    "note_id": "text",
    "subject_id": "integer",
    "hadm_id": "integer",
    "charttime": "timestamp",
    "text": "text",
}
# Module, table, columns, and which rows; a table may need those before it.
TABLES: Sequence[tuple[str, str, dict[str, str], str]] = (
    ("hosp", "admissions", {"hadm_id": "integer", "subject_id": "integer"}, OF_ADMISSION),
    (
        "hosp",
        "patients",
        {"subject_id": "integer", "gender": "text", "anchor_age": "integer"},
        "subject_id in (select subject_id from admissions)",
    ),
    (
        "hosp",
        "transfers",
        {"hadm_id": "integer", "subject_id": "integer", "intime": "timestamp"},
        OF_ADMISSION,
    ),
    ("hosp", "labevents", LAB_COLUMNS, OF_ADMISSION),
    (
        "hosp",
        "d_labitems",
        {"itemid": "integer", "label": "text", "fluid": "text", "category": "text"},
        ALL,
    ),
    ("hosp", "microbiologyevents", MICRO_COLUMNS, OF_ADMISSION),
    (
        "hosp",
        "procedures_icd",
        {
            "hadm_id": "integer",
            "seq_num": "integer",
            "chartdate": "timestamp",
            "icd_code": "text",
            "icd_version": "integer",
        },
        OF_ADMISSION,
    ),
    (
        "hosp",
        "d_icd_procedures",
        {"icd_code": "text", "icd_version": "integer", "long_title": "text"},
        ALL,
    ),
    ("note", "radiology", RADIOLOGY_COLUMNS, OF_ADMISSION),
    (
        "note_extract",
        "discharge_free_text",
        {
            "hadm_id": "integer",
            "history_of_present_illness": "text",
            "past_medical_history": "text",
            "physical_examination": "text",
        },
        OF_ADMISSION,
    ),
    (
        "note_extract",
        "discharge_diagnosis",
        {"hadm_id": "integer", "seq_num": "integer", "title": "text", "is_primary": "boolean"},
        OF_ADMISSION,
    ),
    (
        "note_extract",
        "procedures",
        {"hadm_id": "integer", "seq_num": "integer", "title": "text", "is_previous": "boolean"},
        OF_ADMISSION,
    ),
)
EVENTS = {
    "labevents": ("hosp", LAB_COLUMNS),
    "microbiologyevents": ("hosp", MICRO_COLUMNS),
    "radiology": ("note", RADIOLOGY_COLUMNS),
}
DETAIL_COLUMNS = {
    "note_id": "text",
    "field_name": "text",
    "field_value": "text",
    "field_ordinal": "integer",
}
INDEXES = {
    **{name: "hadm_id" for _, name, columns, _ in TABLES if "hadm_id" in columns},
    **{f"{name}_assigned": "hadm_id" for name in EVENTS},
    "patients": "subject_id",
    "d_labitems": "itemid",
    "d_icd_procedures": "icd_code",
    "radiology_detail": "note_id",
}


def prepare(database: Database, hadm_ids: Sequence[int], *, with_indexes: bool) -> None:
    """Make the tables of the listed admissions, and tie events without an admission to them."""
    database.run(f"create schema {SCHEMA}")
    database.run(f"set search_path = '{SCHEMA}'")
    ids = ", ".join(f"({int(hadm_id)})" for hadm_id in hadm_ids)
    database.run("create table cohort (hadm_id integer)")
    database.run(f"insert into cohort values {ids}")  # noqa: S608
    for module, table, columns, condition in TABLES:
        _make(database, table, _typed(database, module, table, columns), condition)
    for table, (module, columns) in EVENTS.items():
        _assign(database, table, _typed(database, module, table, columns), columns)
    _make(
        database,
        "radiology_detail",
        _typed(database, "note", "radiology_detail", DETAIL_COLUMNS),
        "note_id in (select note_id from radiology"
        " union all select note_id from radiology_assigned)",
    )
    if with_indexes:
        for table, column in INDEXES.items():
            database.run(f"create index {table}_{column} on {table} ({column})")
    for table in INDEXES:
        database.run(f"analyze {table}")


def _typed(database: Database, module: str, table: str, columns: dict[str, str]) -> str:
    cells = (f"cast(nullif({name}, '') as {kind}) as {name}" for name, kind in columns.items())
    return f"select {', '.join(cells)} from {database.raw(module, table)}"  # noqa: S608


def _make(database: Database, table: str, typed: str, condition: str) -> None:
    database.run(
        f"create table {table} as select * from ({typed}) as typed where {condition}"  # noqa: S608
    )


def _assign(database: Database, table: str, typed: str, columns: dict[str, str]) -> None:
    """Give a row to every admission of its patient that was open at its time."""
    names = (f"stays.{name}" if name == "hadm_id" else f"typed.{name}" for name in columns)
    database.run(
        f"""
        create table {table}_assigned as
        with stays as (
            select
                hadm_id,
                subject_id,
                min(intime) - interval '1 day' as opened,
                max(intime) as closed
            from transfers
            group by hadm_id, subject_id
        )
        select {", ".join(names)}
        from ({typed}) as typed
        inner join stays
            on typed.subject_id = stays.subject_id
            and typed.charttime between stays.opened and stays.closed
        where typed.hadm_id is null
        """  # noqa: S608
    )
