"""`python -m medeval load` of MIMIC's files into PostgreSQL: all tables, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import cdm_folder
import mimic3_folder
import psycopg
import pytest
from builds import SYNTHETIC
from commands import PROJECT_ROOT
from folder_changes import change, filled
from in_process import Main
from mimic3_folder import write
from postgres_server import connect
from tables import table

ROWS = table("load")
SCHEMAS = "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema$|public$)'"
TABLES = (
    "select table_schema || '.' || table_name from information_schema.tables"
    " where table_schema in ('mimiciv_hosp', 'mimiciv_note', 'cdm_note_extract')"
)
Database = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def database(
    postgres_database: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Database]:
    """A connection to an empty database that the environment names."""
    for name, value in postgres_database.items():
        monkeypatch.setenv(name, value)
    with connect(postgres_database) as connection:
        yield connection


def names(database: Database, query: str) -> list[str]:
    return sorted(str(name) for (name,) in database.execute(query.encode()))


def count(database: Database, table: str) -> object:
    ((rows,),) = database.execute(f"select count(*) from {table}".encode())
    return rows


@pytest.mark.parametrize("name", [*ROWS["stops"], *ROWS["loads"]])
def test_a_load_leaves_and_says_what_its_row_has(
    name: str, tmp_path: Path, database: Database, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    row: dict[str, Any] = (ROWS["stops"] | ROWS["loads"])[name]
    kind = row.get("kind", "mimic4")
    folders = mimic3_folder if kind == "mimic3" else cdm_folder
    folder = folders.write_folder(tmp_path / "files")
    if "release" in row:
        cdm_folder.as_release_1_0(folder)
    if "loaded" in row:
        main("load", kind, folder, code=0)
    for statement in row.get("sql", ()):
        database.execute(statement.encode())
    before = names(database, SCHEMAS)
    change(folder, row.get("files", {}))
    for variable, value in row.get("env", {}).items():
        monkeypatch.setenv(variable, filled(value, folder))
    words = [filled(word, folder) for word in row.get("words", ["$FOLDER"])]
    done = main("load", kind, *words, code=2 if name in ROWS["stops"] else 0)
    for part in row.get("says", ()):
        assert filled(part, folder) in done.out + done.err
    assert done.err == filled(row.get("said", done.err), folder)
    if name in ROWS["stops"]:
        assert "secret" not in done.err
        assert names(database, SCHEMAS) == before
    if "counts" in row:
        found = {table: count(database, table) for table in names(database, TABLES)}
        assert found == ROWS["counts"] | row["counts"]
    for query, rows in row.get("finds", {}).items():
        assert [list(found) for found in database.execute(query.encode())] == rows


def test_the_dbt_variable_names_the_cohort_file(
    checkout: Path, database: Database, main: Main
) -> None:
    folder = cdm_folder.write_folder(checkout / "files")
    listed = write(folder / "list.txt", "20000001\n")
    settings = (PROJECT_ROOT / "dbt_project.yml").read_text(encoding="utf-8")
    settings = settings.replace("cdm_cohort_file: ''", f"cdm_cohort_file: '{listed}'")
    Path("dbt_project.yml").unlink()  # a link
    write(checkout / "dbt_project.yml", settings)
    main("load", "mimic4", folder, code=0)
    assert names(database, "select hadm_id from cdm_note_extract.cohort_list") == ["20000001"]


def test_an_interrupt_leaves_nothing(
    tmp_path: Path, database: Database, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        assert names(database, SCHEMAS) == []
        raise KeyboardInterrupt

    monkeypatch.setattr("medeval.load.progress", lambda *_: nullcontext(interrupt))
    main("load", "mimic3", mimic3_folder.write_folder(tmp_path / "files"), code=130)
    assert names(database, SCHEMAS) == []


def test_a_password_in_a_host_is_not_shown(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "postgresql://me:hunter2@/nonexistent")
    done = main("load", "mimic3", SYNTHETIC)
    assert (done.code, "Cannot connect to PostgreSQL" in done.err) == (2, True)
    assert "hunter2" not in done.out + done.err
