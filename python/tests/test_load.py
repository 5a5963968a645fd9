from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import PROJECT_ROOT, run_medeval
from postgres_server import connect

from medeval.errors import UserError
from medeval.load import LoadedTable, Part, load_parts
from medeval.sources import sources
from medeval.warehouse import Target

MIMIC3 = sources(PROJECT_ROOT)["mimic3"]

STAY = "10,100,200"
EVENT_HEADER = "ROW_ID,SUBJECT_ID,HADM_ID,ICUSTAY_ID,CHARTTIME,ITEMID,VALUE,VALUEUOM\n"
TABLES = {
    "admissions": "ROW_ID,SUBJECT_ID,HADM_ID,ADMITTIME,DISCHTIME,DEATHTIME,ETHNICITY,DIAGNOSIS\n"
    "1,10,100,2150-01-01 08:00:00,2150-01-09 08:00:00,,WHITE,SEPSIS\n"
    '2,11,101,2151-01-01 08:00:00,2151-01-09 08:00:00,,WHITE,"SEPSIS, BLEED"\n',
    "patients": "ROW_ID,SUBJECT_ID,GENDER,DOB,DOD\n1,10,F,2094-03-05 00:00:00,\n",
    "icustays": "ROW_ID,SUBJECT_ID,HADM_ID,ICUSTAY_ID,DBSOURCE,FIRST_CAREUNIT,LAST_CAREUNIT,"
    "FIRST_WARDID,LAST_WARDID,INTIME,OUTTIME,LOS\n"
    f"1,{STAY},carevue,MICU,MICU,52,52,2150-01-01 09:00:00,2150-01-04 09:00:00,3\n",
    "diagnoses_icd": "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n1,10,100,1,0389\n",
    "d_icd_diagnoses": "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\n1,0389,Septicemia,Septicemia\n",
    "chartevents": EVENT_HEADER + f"1,{STAY},2150-01-01 10:00:00,115,Capillary refill rate,\n",
    "labevents": "ROW_ID,SUBJECT_ID,HADM_ID,CHARTTIME,ITEMID,VALUE,VALUEUOM\n"
    "1,10,100,2150-01-01 10:00:00,50868,19,mEq/L\n",
    "outputevents": EVENT_HEADER + f"1,{STAY},2150-01-01 10:00:00,40055,39,ml\n",
}

Database = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    write_tables(files)
    return files


@pytest.fixture
def database(postgres_database: dict[str, str]) -> Iterator[Database]:
    with connect(postgres_database) as connection:
        yield connection


@pytest.fixture
def target(postgres_database: dict[str, str]) -> Target:
    settings = {
        "host": postgres_database["PGHOST"],
        "port": int(postgres_database["PGPORT"]),
        "user": postgres_database["PGUSER"],
        "password": postgres_database["PGPASSWORD"],
        "dbname": postgres_database["PGDATABASE"],
    }
    return Target("postgres", "postgres", settings)


def write_tables(files: Path, suffix: str = ".csv.gz") -> None:
    files.mkdir(parents=True)
    for table, content in TABLES.items():
        write(files, table + suffix, content)


def write(files: Path, name: str, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path = files / name
    path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
    return path


def replace_table(files: Path, table: str, content: str | bytes, suffix: str = ".csv") -> Path:
    (files / f"{table}.csv.gz").unlink()
    return write(files, table + suffix, content)


def load_tables(folder: Path, target: Target, schema: str, **options: Any) -> list[LoadedTable]:
    return load_parts([Part(MIMIC3, folder, schema)], target, **options)


def load(folder: Path, target: Target, *, replace: bool = False) -> dict[str, int]:
    loaded = load_tables(folder, target, "mimiciii", replace=replace)
    assert [entry.table for entry in loaded] == list(MIMIC3.tables)
    return {entry.table: entry.rows for entry in loaded}


def schemas(database: Database) -> set[object]:
    rows = database.execute(
        "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema$|public$)'"
    )
    return {name for (name,) in rows}


def column(database: Database, table: str, name: str) -> list[object]:
    rows = database.execute(
        psycopg.sql.SQL("select {} from {} order by row_id").format(
            psycopg.sql.Identifier(name), psycopg.sql.Identifier("mimiciii", table)
        )
    )
    return [value for (value,) in rows]


def assert_stops(
    database: Database,
    folder: Path,
    target: Target,
    *parts: str,
    before: frozenset[str] = frozenset(),
) -> str:
    with pytest.raises(UserError) as caught:
        load(folder, target)
    message = str(caught.value)
    for part in parts:
        assert part in message
    assert schemas(database) == before
    return message


# Case C-01.
def test_a_quote_at_the_end_of_a_quoted_cell_is_read(
    folder: Path, target: Target, database: Database
) -> None:
    content = "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\n"
    content += "".join(f"{row},{row:05},plain,plain title\n" for row in range(10000, 12100))
    content += '20001,A4407,,"ostomy barrier, 4"" x 4"""\n'
    content += '20002,A4408,"","a ""b"""\n'
    content += '20003,A4409,"""","line one\nline ""two""\r\n\r\n,comma"\n'
    replace_table(folder, "d_icd_diagnoses", content)
    rows = load(folder, target)
    logical = list(csv.reader(io.StringIO(content, newline="")))
    assert rows["d_icd_diagnoses"] == len(logical) - 1
    assert column(database, "d_icd_diagnoses", "long_title") == [row[3] for row in logical[1:]]


# Case C-03.
def test_plain_and_compressed_files_of_one_folder_are_loaded_once(
    folder: Path, target: Target, database: Database
) -> None:
    two_lines = TABLES["labevents"] + '2,10,100,2150-01-01 11:00:00,50868,"1\n9",mEq/L\n'
    replace_table(folder, "admissions", TABLES["admissions"])
    write(folder, "labevents.csv.gz", two_lines)
    write(folder, "LABEVENTS.csv", two_lines)
    said: list[str] = []
    load_tables(folder, target, "mimiciii", say=said.append)
    assert column(database, "admissions", "row_id") == ["1", "2"]
    assert column(database, "labevents", "value") == ["19", "1\n9"]
    assert said == [
        f"labevents: {folder}/labevents.csv.gz is loaded; "
        f"{folder}/LABEVENTS.csv must have as many rows."
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_two_forms_of_a_table_that_differ_in_rows_stop(
    folder: Path, target: Target, database: Database, suffix: str
) -> None:
    other = folder / f"labevents{suffix}"
    if suffix == ".csv":
        other.write_text(TABLES["labevents"] + '2,10,100,,1,"a\nb",\n')
    else:
        pq.write_table(pa.table({"subject_id": ["10", "10"]}), other)
    assert_stops(database, folder, target, "labevents.csv.gz has 1 rows", f"{other} has 2")


# Case C-38.
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_quoted_empty_cell_is_kept_apart_from_nothing(
    folder: Path, target: Target, database: Database, suffix: str
) -> None:
    header = "ROW_ID,SUBJECT_ID,HADM_ID,CHARTTIME,ITEMID,VALUE,VALUEUOM"
    rows = [["1", "a", "", None, "1", "", None], ["2", "a", None, "", "1", None, ""]]
    (folder / "labevents.csv.gz").unlink()
    if suffix == ".parquet":
        columns = dict(zip(header.split(","), zip(*rows, strict=True), strict=True))
        pq.write_table(pa.table(columns), folder / "labevents.parquet")
    else:
        cells = [["" if cell is None else cell or '""' for cell in row] for row in rows]
        lines = [header, *(",".join(row) for row in cells), ""]
        write(folder, "labevents" + suffix, "\n".join(lines))
    load(folder, target)
    found = database.execute("select * from mimiciii.labevents order by row_id").fetchall()
    assert [list(row) for row in found] == rows


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("2,11,M,2094-03-05 00:00:00", "fewer cells than the header"),
        ("2,11,M,2094-03-05 00:00:00,,secret", "more cells than the header"),
        ('2,11,M,"secret,2094-03-05 00:00:00', "a quote is not closed"),
        ("", "fewer cells than the header"),
        ("2,11,\u00e9,secret,".encode("latin-1"), "not text in UTF-8"),
        ("2,11,a\0b,secret,", "not text in UTF-8"),
    ],
)
def test_a_malformed_row_stops_with_file_line_and_reason(
    folder: Path, target: Target, database: Database, row: str | bytes, reason: str
) -> None:
    good = b'1,10,"two\nlines",2094-03-05 00:00:00,\n'
    line = row.encode() if isinstance(row, str) else row
    content = b"ROW_ID,SUBJECT_ID,GENDER,DOB,DOD\n" + good + line + b"\n"
    path = replace_table(folder, "patients", content)
    # Line 4: the row above it has a line break in a cell.
    message = assert_stops(database, folder, target, f"{path}, line", reason)
    assert "line 4" in message or "a quote is not closed" in message
    assert "secret" not in message


# Before PostgreSQL 18 such a line ends COPY, and the rows after it are lost without a word.
def test_a_line_with_copys_old_end_mark_stops(
    folder: Path, target: Target, database: Database
) -> None:
    content = TABLES["d_icd_diagnoses"] + "\\.\n3,0391,x,x\n"
    path = replace_table(folder, "d_icd_diagnoses", content)
    assert_stops(database, folder, target, str(path))


def test_a_fault_in_the_last_table_leaves_nothing(
    folder: Path, target: Target, database: Database
) -> None:
    assert list(MIMIC3.tables)[-1] == "chartevents"
    replace_table(folder, "chartevents", TABLES["chartevents"] + "1,2\n")
    assert_stops(database, folder, target, "chartevents.csv, line 3")


def test_an_interrupt_leaves_nothing(folder: Path, target: Target, database: Database) -> None:
    def interrupt(table: str, done: int, total: int) -> None:
        if table == "chartevents":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_tables(folder, target, "mimiciii", watch=interrupt)
    assert schemas(database) == set()


def test_replace_replaces_its_own_schema_and_names_the_views_that_go(
    folder: Path, target: Target, database: Database
) -> None:
    load(folder, target)
    database.execute("create schema mimic3")
    database.execute("create view mimic3.stg as select * from mimiciii.admissions")
    replace_table(folder, "admissions", TABLES["admissions"].replace("SEPSIS", "Asthma"))
    said: list[str] = []
    load_tables(folder, target, "mimiciii", replace=True, say=said.append)
    assert column(database, "admissions", "diagnosis") == ["Asthma", "Asthma, BLEED"]
    assert said == ["Dropped with the old mimiciii, which they read: view mimic3.stg."]
    said.clear()
    load_tables(folder, target, "mimiciii", replace=True, say=said.append)
    assert said == []


def test_a_failed_replacement_leaves_the_old_tables(
    folder: Path, target: Target, database: Database
) -> None:
    load(folder, target)
    replace_table(folder, "chartevents", TABLES["chartevents"] + "1,2\n")
    with pytest.raises(UserError, match="line 3"):
        load(folder, target, replace=True)
    assert column(database, "chartevents", "value") == ["Capillary refill rate"]


@pytest.mark.parametrize("comment", [None, "mine", "made by medeval load: mimic4, medeval 0.1.0"])
def test_a_foreign_schema_is_never_replaced(
    folder: Path, target: Target, database: Database, comment: str | None
) -> None:
    database.execute("create schema mimiciii")
    database.execute("create table mimiciii.patients as select 'kept' as row_id")
    database.execute(
        psycopg.sql.SQL("comment on schema mimiciii is {}").format(psycopg.sql.Literal(comment))
    )
    with pytest.raises(UserError, match="not made by"):
        load(folder, target, replace=True)
    assert column(database, "patients", "row_id") == ["kept"]


def test_what_someone_put_beside_the_tables_is_never_dropped(
    folder: Path, target: Target, database: Database
) -> None:
    load(folder, target)
    database.execute("create table mimiciii.mine as select 'kept' as row_id")
    with pytest.raises(UserError, match="holds more than"):
        load(folder, target, replace=True)
    assert column(database, "mine", "row_id") == ["kept"]
    assert column(database, "patients", "row_id") == ["1"]


@pytest.mark.parametrize(
    "settings",
    [
        {"host": "/nonexistent", "password": "hunter2 secret"},
        {"host": "/nonexistent", "password": "hunter2 secret", "port": "hunter2 secret"},
        {"host": "postgresql://me:hunter2@/nonexistent"},
    ],
)
def test_a_failing_connection_keeps_the_password(folder: Path, settings: dict[str, str]) -> None:
    with pytest.raises(UserError, match="Cannot connect to PostgreSQL") as caught:
        load_tables(folder, Target("postgres", "postgres", settings), "mimiciii")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_command_reads_the_folder_and_always_loads_into_postgres(
    folder: Path, postgres_database: dict[str, str], database: Database
) -> None:
    env = {
        **postgres_database,
        "MEDEVAL_MIMIC3_DIR": str(folder),
        "MEDEVAL_TARGET": "duckdb",
    }
    result = run_medeval("load", "mimic3", "--schema", "raw", env=env)
    assert (result.returncode, result.stderr) == (0, "")
    assert "chartevents" in result.stdout
    assert schemas(database) == {"raw"}


# Case C-04.
@pytest.mark.parametrize("header", ["lower", "marked"])
def test_names_are_folded_and_values_are_not(
    folder: Path, target: Target, database: Database, header: str
) -> None:
    first, *rest = TABLES["admissions"].splitlines()
    line = f"{first},MIMIC_ID".lower()
    if header == "marked":
        line = "\ufeff" + ",".join(f'"{cell}"' for cell in line.upper().split(","))
    (folder / "admissions.csv.gz").unlink()
    write(folder, "Admissions.csv", "\n".join([line, *(f"{row},Refill" for row in rest), ""]))
    assert load(folder, target)["admissions"] == 2
    assert column(database, "admissions", "mimic_id") == ["Refill"] * 2


def test_a_schema_name_is_quoted(folder: Path, target: Target, database: Database) -> None:
    name = 'My "raw"; drop schema public'
    load_tables(folder, target, name)
    assert schemas(database) == {name}
