"""The test of dbt for all constraints of a table, on each engine: what its failing rows say.

`slow/test_planted_faults.py` has what dbt says of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from builds import Build
from postgres_server import connect
from tables import table

# Each has a table, what is done to it, and the rows that the test of its constraints then returns,
# of these columns.
ROWS = table("constraints")


@contextmanager
def changeable(build: Build, folder: Path) -> Iterator[Any]:
    """Give a connection to a build whose tables may be changed: on DuckDB to a copy."""
    if build.target == "postgres":
        with connect(build.env) as connection:
            yield connection
        return
    with duckdb.connect(shutil.copy(build.folder / "medeval.duckdb", folder)) as copy:
        yield copy


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_a_broken_constraint_is_named_with_the_values(
    cdm_duckdb: Build, cdm_postgres: Build, tmp_path: Path, engine: str
) -> None:
    build = cdm_duckdb if engine == "duckdb" else cdm_postgres
    compiled = build.folder / "target" / "compiled" / "medeval"
    with changeable(build, tmp_path) as connection:
        for row in ROWS:
            (path,) = compiled.rglob(f"{row['table']}_meets_constraints.sql")
            failures = path.read_text(encoding="utf-8")
            names = ", ".join(row["columns"])
            query = f"select broken, row_count, {names} from ({failures}) as failures"
            assert connection.execute(query).fetchall() == []
            connection.execute("begin")
            for statement in row["changes"]:
                connection.execute(statement)
            failed = connection.execute(f"{query} order by broken, {names}").fetchall()
            connection.execute("rollback")
            assert [list(found) for found in failed] == row["failed"], row
