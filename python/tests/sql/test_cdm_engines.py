"""The same CDM tables and files on every engine, thread count and time zone of the session."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from builds import CDM_PUBLISHED, SYNTHETIC_IV, Build, build_floor
from commands import PROJECT_ROOT
from dbt_worker import store_views
from postgres_server import connect, set_time_zone
from tables import table


@pytest.mark.parametrize("table", CDM_PUBLISHED)
def test_published_tables_are_identical(cdm_duckdb: Build, cdm_postgres: Build, table: str) -> None:
    assert cdm_duckdb.published(table) == cdm_postgres.published(table)


def test_every_published_table_is_compared(cdm_duckdb: Build) -> None:
    tables = cdm_duckdb.rows(
        "select table_name from information_schema.tables where table_schema = 'cdm' "
        "and table_name like 'cdm_%'"
    )
    seeds = {path.stem for path in (PROJECT_ROOT / "seeds" / "cdm").glob("*.csv")}
    assert {name for (name,) in tables} - seeds == set(CDM_PUBLISHED)


@pytest.mark.parametrize("options", [(), ("--first-only",)])
def test_files_are_identical(
    cdm_duckdb: Build, cdm_postgres: Build, options: tuple[str, ...]
) -> None:
    exported = cdm_duckdb.hashes(*options)
    assert set(exported) == {"benchmark.json", "benchmark.jsonl", "lab_test_mapping.json"}
    assert exported == cdm_postgres.hashes(*options)


@pytest.mark.parametrize(("threads", "zone"), [("1", "America/New_York"), ("2", "Asia/Shanghai")])
def test_threads_and_time_zones(tmp_path: Path, cdm_duckdb: Build, threads: str, zone: str) -> None:
    build = build_floor(
        "cdm", tmp_path, SYNTHETIC_IV, models_only=True, MEDEVAL_THREADS=threads, TZ=zone
    )
    assert build.hashes() == cdm_duckdb.hashes()


def test_postgres_gives_the_same_files_in_any_time_zone(
    tmp_path: Path, cdm_duckdb: Build, postgres_database: dict[str, str]
) -> None:
    set_time_zone(postgres_database, "America/New_York")
    build = build_floor("cdm", tmp_path, SYNTHETIC_IV, postgres_database, models_only=True)
    assert build.rows("select current_setting('timezone')") != [("UTC",)]
    assert build.hashes() == cdm_duckdb.hashes()


@pytest.fixture(params=["duckdb", "postgres"])
def build(request: pytest.FixtureRequest, cdm_duckdb: Build, cdm_postgres: Build) -> Build:
    return cdm_duckdb if request.param == "duckdb" else cdm_postgres


def test_a_broken_constraint_is_named_with_the_values(build: Build, tmp_path: Path) -> None:
    """What dbt says of the failing rows, `slow/test_planted_faults.py` has."""
    compiled = build.folder / "target" / "compiled" / "medeval"
    with changeable(build, tmp_path) as execute:
        for row in table("constraints"):
            (path,) = compiled.rglob(f"{row['table']}_meets_constraints.sql")
            failures = path.read_text(encoding="utf-8")
            names = ", ".join(row["columns"])
            query = f"select broken, row_count, {names} from ({failures}) as failures"
            execute("begin")
            for statement in row["changes"]:
                execute(statement)
            failed = execute(f"{query} order by broken, {names}").fetchall()
            execute("rollback")
            assert [list(found) for found in failed] == row["failed"], row


CHANGES = table("cdm_source_cells")
CHANGED = sorted({table for table, _, _ in CHANGES})


def test_no_table_of_an_open_source_may_differ(build: Build, tmp_path: Path) -> None:
    compiled = build.folder / "target" / "compiled" / "medeval" / "models" / "cdm"
    query = (compiled / "cdm_data_class.sql").read_text(encoding="utf-8")
    with changeable(build, tmp_path) as execute:

        def data_class() -> str:
            return str(execute(f"select data_class from ({query}) as found").fetchone()[0])

        def keeps(statement: str) -> bool:
            """Tell whether the source is open still, and take the change back."""
            execute("begin")
            execute(statement)
            is_open = data_class() == "open"
            execute("rollback")
            return is_open

        assert data_class() == "open"
        updates = [
            f"update {table} set {column} = {value} "
            f"where {column} = (select min({column}) from {table})"
            for table, column, value in CHANGES
        ]
        deletions = [f"delete from {table}" for table in CHANGED]
        kept = [statement for statement in (*updates, *deletions) if keeps(statement)]
    assert kept == []


@contextmanager
def changeable(build: Build, folder: Path) -> Iterator[Callable[[str], Any]]:
    """Give a way to change the source tables of a build: on DuckDB those of a copy."""
    if build.target == "postgres":
        with connect(build.env) as connection:
            yield lambda text: connection.execute(text.encode())
        return
    path = Path(shutil.copy(build.folder / "medeval.duckdb", folder))
    with duckdb.connect(path) as connection:
        store_views(connection, " ".join(CHANGED))
        yield connection.execute
