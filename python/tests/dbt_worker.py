"""dbt in a process that keeps the project parsed: many short runs, each with its own settings."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from commands import PROJECT_ROOT, parse_options, places_of

# The process, which has one run at a time.
Worker = ProcessPoolExecutor


@cache
def _parsed_project() -> Any:
    from dbt.cli.main import dbtRunner

    os.chdir(PROJECT_ROOT)
    words = ["--quiet", "--no-write-json", "parse", *parse_options("worker")]
    return dbtRunner().invoke(words).result


def _run_dbt(words: list[str], env: dict[str, str]) -> tuple[bool, str]:
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner
    from dbt.selected_resources import set_selected_resources

    # As in a new process; a retry selects nothing.
    set_selected_resources(set())
    manifest = _parsed_project()
    os.environ.update(env)
    output = io.StringIO()
    with redirect_stdout(output):
        done = dbtRunner(manifest=manifest).invoke(words)
        # dbt puts a query of the command line into the project that it was given.
        for name in [name for name in manifest.nodes if name.startswith("sql_operation.")]:
            del manifest.nodes[name]
    for name in env:
        del os.environ[name]
    # There is none where dbt stopped before it opened the database.
    if DuckDBConnectionManager._ENV is not None:
        DuckDBConnectionManager.env().close()
        DuckDBConnectionManager.close_all_connections()
    return done.success, output.getvalue()


@dataclass(frozen=True)
class Worked:
    """A folder with a DuckDB warehouse on which dbt runs, which saves seconds a run.

    Attributes:
        worker: the process that has the project parsed.
        folder: for the warehouse and for dbt's files.
        env: variables of each run.
    """

    worker: Worker
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.folder / "medeval.duckdb"

    def dbt(self, *args: str, **env: object) -> tuple[bool, str]:
        """Run dbt with `MEDEVAL_` variables; tell whether it succeeded, and what it printed."""
        variables = {f"MEDEVAL_{name}": str(value) for name, value in env.items()}
        warehouse, options = places_of(self.folder)
        # Half of a short run is the writing of what the project was parsed to, which nobody reads.
        words = [*args, *options, "--no-use-colors", "--no-write-json"]
        return self.worker.submit(_run_dbt, words, {**self.env, **variables, **warehouse}).result()

    def builds(self, *args: str, **env: object) -> str:
        """Run dbt, which must succeed, and return what it printed."""
        succeeded, output = self.dbt(*args, **env)
        assert succeeded, output
        return output

    def stops(self, *args: str, says: tuple[object, ...], **env: object) -> str:
        """Run dbt, which must fail and say all of `says`, and return what it printed."""
        succeeded, output = self.dbt(*args, **env)
        assert not succeeded, output
        for part in says:
            assert str(part) in output, output
        return output

    def staged(self, floor: str, **files: Path) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of every staging view of a floor."""
        paths = (PROJECT_ROOT / "models" / floor / "staging").glob("stg_*.sql")
        views = [f"{floor}.{path.stem}" for path in paths]
        return {view: sorted(self.rows(f"from {view}", **files), key=repr) for view in views}

    def rows(self, query: str, **files: Path) -> list[tuple[Any, ...]]:
        """Return the rows of a query; views over a database file need it, by dbt's name for it."""
        with duckdb.connect(self.path, read_only=True) as connection:
            for name, path in files.items():
                quoted = str(path).replace("'", "''")
                connection.execute(f"attach '{quoted}' as {name} (read_only)")
            return connection.execute(query).fetchall()


def store_views(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Make tables of the views that a statement names: rows of a view cannot be changed."""
    views = "select schema_name, view_name from duckdb_views() where not internal order by all"
    for schema, name in connection.execute(views).fetchall():
        if f"{schema}.{name}" in re.findall(r"\w+\.\w+", statement):
            connection.execute(f"create table {schema}.stored as select * from {schema}.{name}")
            connection.execute(f"drop view {schema}.{name}")
            connection.execute(f"alter table {schema}.stored rename to {name}")
