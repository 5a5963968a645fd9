"""The two engines behind one small face."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import psycopg

Row = tuple[Any, ...]
SCHEMAS = {"hosp": "mimiciv_hosp", "note": "mimiciv_note", "note_extract": "cdm_note_extract"}


class Database:
    """Runs statements whose parameters are question marks.

    Without a connection it is a DuckDB in memory, over the `.csv.gz` files of the source; else a
    PostgreSQL database that `python -m medeval load mimic4` has filled.
    """

    def __init__(self, source: Path, connection: psycopg.Connection[Row] | None = None) -> None:
        self.source = source
        self.statements = 0
        self._duckdb = duckdb.connect()
        self._postgres = connection

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run a query and return its rows."""
        self.statements += 1
        if self._postgres is None:
            return self._duckdb.execute(statement, list(parameters)).fetchall()
        query = statement.replace("?", "%s").encode()
        return self._postgres.execute(query, list(parameters)).fetchall()

    def run(self, statement: str) -> None:
        """Run a statement that returns nothing."""
        if self._postgres is None:
            self._duckdb.execute(statement)
        else:
            self._postgres.execute(statement.encode())

    def raw(self, module: str, table: str) -> str:
        """Return what stands behind `from` for a raw table, all columns as text."""
        if self._postgres is not None:
            return f"{SCHEMAS[module]}.{table}"
        file = str(self.source / module / f"{table}.csv.gz").replace("'", "''")
        # Lines of the files end in \n; one in \r\n is part of a note.
        return (
            f"read_csv('{file}', header = true, all_varchar = true, delim = ',', quote = '\"', "
            "escape = '\"', new_line = '\\n', parallel = false, max_line_size = 10000000)"
        )
