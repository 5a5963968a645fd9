"""The two engines behind one small face."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import duckdb
import psycopg

Row = tuple[Any, ...]
SCHEMAS = {"hosp": "mimiciv_hosp", "note": "mimiciv_note", "note_extract": "cdm_note_extract"}


class Database(Protocol):
    """Runs statements whose parameters are question marks."""

    statements: int

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run a query and return its rows."""

    def run(self, statement: str) -> None:
        """Run a statement that returns nothing."""

    def raw(self, module: str, table: str) -> str:
        """Return what stands behind `from` for a raw table, all columns as text."""


class DuckDB:
    """A DuckDB file or memory, with the raw tables as `.csv.gz` files in a folder."""

    def __init__(self, path: Path | None, source: Path) -> None:
        self.connection = duckdb.connect(str(path or ":memory:"))
        self.source = source
        self.statements = 0

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run a query and return its rows."""
        self.statements += 1
        return self.connection.execute(statement, list(parameters)).fetchall()

    def run(self, statement: str) -> None:
        """Run a statement that returns nothing."""
        self.connection.execute(statement)

    def raw(self, module: str, table: str) -> str:
        """Return a call of the CSV reader."""
        file = str(self.source / module / f"{table}.csv.gz").replace("'", "''")
        # Lines of the files end in \n; one in \r\n is part of a note.
        return (
            f"read_csv('{file}', header = true, all_varchar = true, delim = ',', quote = '\"', "
            "escape = '\"', new_line = '\\n', parallel = false, max_line_size = 10000000)"
        )


class PostgreSQL:
    """A PostgreSQL database that `python -m medeval load mimic4` has filled."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self.connection = connection
        self.statements = 0

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run a query and return its rows."""
        self.statements += 1
        query = statement.replace("?", "%s").encode()
        return self.connection.execute(query, list(parameters)).fetchall()

    def run(self, statement: str) -> None:
        """Run a statement that returns nothing."""
        self.connection.execute(statement.encode())

    def raw(self, module: str, table: str) -> str:
        """Return the name of a loaded table."""
        return f"{SCHEMAS[module]}.{table}"
