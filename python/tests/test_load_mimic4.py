"""`python -m medeval load mimic4`: hosp, notes, extracts and the cohort list, all or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import psycopg
import pytest
from cdm_folder import EXTRACT, HOSP, as_release_1_0, write, write_folder
from commands import PROJECT_ROOT, run_medeval
from postgres_server import connect

SCHEMAS = {"mimiciv_hosp", "mimiciv_note", "cdm_note_extract"}
ROWS = {
    "mimiciv_hosp": {table: text.count("\n") - 1 for table, text in HOSP.items()},
    "mimiciv_note": {"radiology_detail": 1, "radiology": 1, "discharge": 1},
    "cdm_note_extract": {
        "discharge_free_text": 2,
        "discharge_diagnosis": 2,
        "procedures": 1,
        "cohort_list": 0,
    },
}
NO_EXTRACT = dict.fromkeys(ROWS["cdm_note_extract"], 0)

Database = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "mimic")


@pytest.fixture
def database(postgres_database: dict[str, str]) -> Iterator[Database]:
    with connect(postgres_database) as connection:
        yield connection


@pytest.fixture
def env(postgres_database: dict[str, str]) -> dict[str, str]:
    return dict(postgres_database)


def load(*args: str | Path, env: dict[str, str], cwd: Path | None = None) -> str:
    """Run the command and return what it said on stderr."""
    result = run_medeval("load", "mimic4", *args, env=env, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stderr


def refusal(
    *args: str | Path, env: dict[str, str] | None = None, database: Database | None = None
) -> str:
    """Run the command, which must refuse and leave nothing, and return its sentence."""
    result = run_medeval("load", "mimic4", *args, env=env)
    assert result.returncode == 2, result.stdout
    assert "Traceback" not in result.stderr
    if database is not None:
        assert schemas(database) == set()
    return result.stderr.splitlines()[-1]


def schemas(database: Database) -> set[object]:
    rows = database.execute(
        "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema$|public$)'"
    )
    return {name for (name,) in rows}


def counts(database: Database) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    tables = database.execute(
        "select table_schema, table_name from information_schema.tables"
        " where table_schema = any(%s)",
        [list(SCHEMAS)],
    ).fetchall()
    for schema, table in tables:
        name = psycopg.sql.Identifier(str(schema), str(table))
        row = database.execute(psycopg.sql.SQL("select count(*) from {}").format(name)).fetchone()
        assert row is not None
        found.setdefault(str(schema), {})[str(table)] = int(str(row[0]))
    return found


def cohort(database: Database) -> list[tuple[object, ...]]:
    return database.execute(
        "select list_position, hadm_id from cdm_note_extract.cohort_list"
        " order by cast(list_position as integer)"
    ).fetchall()


# What is loaded


def test_one_folder_fills_three_schemas_with_text(
    folder: Path, env: dict[str, str], database: Database
) -> None:
    assert load(folder, env=env) == ""
    assert counts(database) == ROWS
    types = database.execute(
        "select distinct data_type from information_schema.columns where table_schema = any(%s)",
        [list(SCHEMAS)],
    ).fetchall()
    assert types == [("text",)]
    assert database.execute("select text from mimiciv_note.discharge").fetchall() == [
        ("Discharge Diagnosis:\nAcute appendicitis\n",)
    ]
    analyzed = database.execute(
        "select count(*) from pg_class where relkind = 'r' and reltuples < 0 and relnamespace in"
        " (select oid from pg_namespace where nspname = any(%s))",
        [list(SCHEMAS)],
    ).fetchone()
    assert analyzed == (0,)
    assert "--replace replaces it" in refusal(folder, env=env)


@pytest.mark.parametrize("inside", [False, True], ids=["above the modules", "the modules"])
def test_each_variable_names_a_module_or_the_folder_above_it(
    folder: Path, env: dict[str, str], database: Database, inside: bool
) -> None:
    modules = {
        "MEDEVAL_MIMIC4_DIR": "hosp",
        "MEDEVAL_MIMIC4_NOTE_DIR": "note",
        "MEDEVAL_CDM_EXTRACT_DIR": "note_extract",
    }
    env |= {name: str(folder / module if inside else folder) for name, module in modules.items()}
    assert load(env=env) == ""
    assert counts(database) == ROWS


def test_release_1_0_is_loaded_into_one_schema(
    folder: Path, env: dict[str, str], database: Database
) -> None:
    load(as_release_1_0(folder), env=env)
    assert counts(database) == ROWS
    columns = database.execute(
        "select column_name from information_schema.columns where table_name = 'admissions'"
    ).fetchall()
    assert ("ethnicity",) in columns


def test_without_extracts_their_tables_are_empty_and_the_user_is_told(
    folder: Path, env: dict[str, str], database: Database
) -> None:
    shutil.rmtree(folder / "note_extract")
    said = load(folder, env=env)
    assert said == "cdm_note_extract: no folder is named, so the tables of its files are empty.\n"
    assert counts(database) == ROWS | {"cdm_note_extract": NO_EXTRACT}
    columns = database.execute(
        "select column_name from information_schema.columns where table_schema ="
        " 'cdm_note_extract' and table_name = 'procedures' order by ordinal_position"
    ).fetchall()
    assert [name for (name,) in columns] == ["hadm_id", "title", "is_previous", "seq_num"]


def test_optional_tables_without_a_file_are_empty_and_named(
    folder: Path, env: dict[str, str], database: Database
) -> None:
    absent = {
        "hosp": ["d_icd_diagnoses", "diagnoses_icd"],
        "note": ["discharge"],
        "note_extract": ["procedures"],
    }
    for module, tables in absent.items():
        for table in tables:
            (folder / module / f"{table}.csv.gz").unlink()
    said = load(folder, env=env).splitlines()
    assert len(said) == 4
    for table, line in zip(chain.from_iterable(absent.values()), said, strict=True):
        assert f"no file of {table}, so that table is empty" in line
    found = counts(database)
    assert found["mimiciv_hosp"]["diagnoses_icd"] == 0
    assert found["cdm_note_extract"] == ROWS["cdm_note_extract"] | {"procedures": 0}


def test_a_variable_overrides_a_module_of_the_folder(
    tmp_path: Path, folder: Path, env: dict[str, str], database: Database
) -> None:
    other = write_folder(
        tmp_path / "other",
        {"note_extract": {"procedures": EXTRACT["procedures"] + "20000002,ERCP,False,1\n"}},
    )
    env["MEDEVAL_CDM_EXTRACT_DIR"] = str(other / "note_extract")
    assert f"cdm_note_extract is read from {other / 'note_extract'}" in load(folder, env=env)
    assert counts(database)["cdm_note_extract"] == NO_EXTRACT | {"procedures": 2}


def test_the_demo_stands_in_where_nothing_is_named(env: dict[str, str], database: Database) -> None:
    said = load(env=env)
    assert f"loading the synthetic demo, {PROJECT_ROOT / 'demo' / 'mimic4'}" in said
    found = counts(database)
    assert found["mimiciv_hosp"]["labevents"] > 0
    assert found["mimiciv_note"]["discharge"] > 0


# The cohort list


@pytest.mark.parametrize(
    "content",
    ["20000002\n20000001\n", "20000002\r\n20000001", "\ufeff\n 20000002 \n\n20000001\n\n"],
    ids=["plain", "windows", "mark and blanks"],
)
def test_the_cohort_list_keeps_the_order_of_the_file(
    folder: Path, env: dict[str, str], database: Database, content: str
) -> None:
    listed = write(folder / "list.txt", content)
    said = load(folder, "--cohort-file", listed, env=env)
    assert said == f"The cohort is the 2 admissions of {listed}.\n"
    assert cohort(database) == [("1", "20000002"), ("2", "20000001")]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("20000001\nhadm_id\n", ["line 2", "hadm_id"]),
        ("20000001,20000002\n", ["line 1"]),
        ("\n20000001.0\n", ["line 2"]),
        ("20000001\n\n20000002\n20000001\n", ["line 4", "line 1"]),
        ("-5\n", ["line 1"]),
        ("\n \n", ["no admission"]),
        (b"\xff\xfe2\x000\x00", ["UTF-8"]),
    ],
)
def test_a_bad_cohort_file_stops_with_file_and_line(
    folder: Path,
    env: dict[str, str],
    database: Database,
    content: str | bytes,
    parts: list[str],
) -> None:
    listed = write(folder / "list.txt", content)
    message = refusal(folder, "--cohort-file", listed, env=env, database=database)
    for part in [str(listed), *parts]:
        assert part in message


def test_the_dbt_variable_names_the_cohort_file(
    tmp_path: Path, folder: Path, env: dict[str, str], database: Database
) -> None:
    project = tmp_path / "project"
    listed = write(tmp_path / "list.txt", "20000001\n")
    for path in ["profiles.yml", *(PROJECT_ROOT.glob("models/*/staging/_*__sources.yml"))]:
        place = project / (PROJECT_ROOT / path).relative_to(PROJECT_ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT_ROOT / path, place)
    settings = (PROJECT_ROOT / "dbt_project.yml").read_text(encoding="utf-8")
    write(
        project / "dbt_project.yml",
        settings.replace("cdm_cohort_file: ''", f"cdm_cohort_file: '{listed}'"),
    )
    load(folder, env=env, cwd=project)
    assert cohort(database) == [("1", "20000001")]


# All or nothing


def test_a_fault_in_the_last_source_leaves_none_of_the_schemas(
    folder: Path, env: dict[str, str], database: Database
) -> None:
    path = folder / "note_extract" / "procedures.csv.gz"
    write(path, EXTRACT["procedures"] + "20000002,secret\n")
    message = refusal(folder, env=env, database=database)
    assert f"{path}, line 3" in message
    assert "secret" not in message


def test_one_schema_that_exists_keeps_all_three_out(
    folder: Path, env: dict[str, str], database: Database
) -> None:
    database.execute("create schema mimiciv_note")
    message = refusal(folder, env=env)
    assert "mimiciv_note exists; nothing was touched" in message
    assert "--replace" not in message
    assert "mimic4_note_schema" in message
    assert schemas(database) == {"mimiciv_note"}


# Bad usage


def test_a_name_for_one_schema_is_refused(folder: Path) -> None:
    message = refusal(folder, "--schema", "raw")
    for variable in ("mimic4_hosp_schema", "mimic4_note_schema", "cdm_extract_schema"):
        assert variable in message


def test_a_cohort_file_is_refused_for_mimic3(folder: Path) -> None:
    result = run_medeval("load", "mimic3", folder, "--cohort-file", folder / "list.txt")
    assert result.returncode == 2
    assert "--cohort-file is for mimic4" in result.stderr


@pytest.mark.parametrize(
    ("given", "lacking"),
    [
        ("MEDEVAL_MIMIC4_DIR", "MEDEVAL_MIMIC4_NOTE_DIR"),
        ("MEDEVAL_MIMIC4_NOTE_DIR", "MEDEVAL_MIMIC4_DIR"),
        ("MEDEVAL_CDM_EXTRACT_DIR", "MEDEVAL_MIMIC4_DIR"),
    ],
)
def test_the_demo_never_stands_beside_real_data(folder: Path, given: str, lacking: str) -> None:
    message = refusal(env={given: str(folder)})
    assert f"{given} is set and {lacking} is not" in message


def test_a_database_is_not_loaded(tmp_path: Path) -> None:
    message = refusal(env={"MEDEVAL_MIMIC4_DB": str(tmp_path / "m.duckdb")})
    assert "MEDEVAL_MIMIC4_DB is set" in message
    assert "MEDEVAL_MIMIC4_DIR" in message
