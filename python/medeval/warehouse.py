"""The warehouse that dbt builds, opened for reading: DuckDB's file or a PostgreSQL database.

Both engines answer the same SQL here. Rows come as plain tuples, a batch at a time, so that a table
larger than memory can be read; the caller asks for the order with `order by`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from medeval.engine_errors import shown
from medeval.errors import UserError
from medeval.profile import Target

if TYPE_CHECKING:
    import duckdb

Row = tuple[Any, ...]

BATCH_ROWS = 20_000


def schema_name(name: str) -> str:
    """Return the schema that dbt builds `name` in (``MEDEVAL_SCHEMA_PREFIX`` goes in front)."""
    return os.environ.get("MEDEVAL_SCHEMA_PREFIX", "") + name


class Warehouse(ABC):
    """An open, read-only connection to one target of profiles.yml."""

    def __init__(self, target: Target) -> None:
        self.target = target

    @abstractmethod
    def query(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[list[Row]]:
        """Run one statement and yield its rows in batches.

        Args:
            sql: the statement; parameters are written ``$1``, ``$2``, on both engines.
            parameters: their values.

        Raises:
            UserError: the engine refused the statement.
        """

    @abstractmethod
    def relation(self, schema: str, table: str) -> str:
        """Return the quoted, fully qualified name of a table."""

    @abstractmethod
    def server_version(self) -> str:
        """Return the version of the engine that answers."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""

    def select(
        self,
        columns: Sequence[str],
        schema: str,
        table: str,
        rest: str = "",
        parameters: Sequence[object] = (),
    ) -> Iterator[list[Row]]:
        """Yield columns of one table in batches; `rest` is what follows the table's name."""
        relation = self.relation(schema, table)
        # Names come from the code and values go in as parameters; nothing of a user's is in here.
        sql = f"select {', '.join(columns)} from {relation} {rest}"  # noqa: S608
        return self.query(sql, parameters)

    def count(self, schema: str, table: str) -> int:
        """Return the number of rows of a table."""
        (row,) = flat(self.select(["count(*)"], schema, table))
        return int(row[0])

    def columns(self, schema: str, table: str) -> list[str]:
        """Return the column names of a table in their order; none if there is no such table."""
        found = self.query(
            "select cast(column_name as varchar) from information_schema.columns"
            " where table_catalog = current_database() and table_schema = $1 and table_name = $2"
            " order by ordinal_position",
            (schema, table),
        )
        return [str(name) for (name,) in flat(found)]

    def relation_exists(self, schema: str, table: str) -> bool:
        """Tell whether the warehouse has this table or view."""
        return bool(self.columns(schema, table))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def flat(batches: Iterator[list[Row]]) -> list[Row]:
    """Return all rows of a small result."""
    return [row for batch in batches for row in batch]


def open_warehouse(target: Target, root: Path, *, build_command: str = "dbt build") -> Warehouse:
    """Open the database that a dbt target names.

    Args:
        target: from `medeval.profile.load_target`.
        root: the project's folder, where dbt runs.
        build_command: what to run if there is no warehouse yet, for the message.

    Raises:
        UserError: there is no such database, it is in use, or it cannot be reached.
    """
    if target.type == "duckdb":
        return DuckDBWarehouse(target, root, build_command)
    if target.type == "postgres":
        return PostgresWarehouse(target)
    raise UserError(
        f"Target {target.name!r} is of type {target.type!r}; only duckdb and postgres can be read."
    )


class DuckDBWarehouse(Warehouse):
    """DuckDB's file. While it is open no dbt run can change it, so all queries see one state."""

    def __init__(self, target: Target, root: Path, build_command: str) -> None:
        super().__init__(target)
        import duckdb  # here, not above: `--help` and PostgreSQL do not need its 0.1 s

        self._error = duckdb.Error
        # dbt takes a relative path from the current folder, and so does this.
        path = Path(target.settings["path"])
        if not path.is_file():
            raise UserError(_missing_file(path, root, build_command))
        config = dict(target.settings.get("config_options", {}))
        try:
            self._connection: duckdb.DuckDBPyConnection = duckdb.connect(
                str(path), read_only=True, config=config
            )
        except duckdb.Error as error:
            message = _first_line(error)
            if "lock" in message:
                raise UserError(
                    f"The warehouse {path} is in use by another process, probably dbt. "
                    f"Wait until it has ended. ({message})"
                ) from error
            raise UserError(f"The warehouse {path} cannot be opened: {message}") from error
        ((name,),) = flat(self.query("select current_database()"))
        self._catalog = str(name)

    def query(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[list[Row]]:
        """Run one statement; DuckDB streams the result, it is never held as a whole."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql, list(parameters))
            while batch := cursor.fetchmany(BATCH_ROWS):
                yield batch
        except self._error as error:
            raise UserError(f"DuckDB stopped with: {_first_line(shown(error))}") from None
        finally:
            cursor.close()

    def relation(self, schema: str, table: str) -> str:
        """Return the three-part name: the file medeval.duckdb also holds a schema `medeval`."""
        return ".".join(_quoted(part) for part in (self._catalog, schema, table))

    def server_version(self) -> str:
        """Return DuckDB's version."""
        import duckdb

        return duckdb.__version__

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class PostgresWarehouse(Warehouse):
    """PostgreSQL in one read-only transaction, so that all queries see one state."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        import psycopg  # here, not above: most runs read DuckDB and do not need its 0.2 s

        from medeval import postgres

        self._error = psycopg.Error
        self._shown = postgres.shown
        self._server_cursor = psycopg.RawServerCursor
        self._cursors = 0
        self._connection = postgres.connect(target, read_only=True)

    def query(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[list[Row]]:
        """Run one statement through a cursor on the server, a batch a round trip."""
        self._cursors += 1
        try:
            with self._server_cursor(self._connection, f"medeval_{self._cursors}") as cursor:
                # Binary doubles are the stored bits: no text between the table and the file.
                cursor.execute(sql, list(parameters), binary=True)
                while batch := cursor.fetchmany(BATCH_ROWS):
                    yield batch
        except self._error as error:
            raise UserError(f"PostgreSQL stopped with: {self._shown(self.target, error)}") from None

    def relation(self, schema: str, table: str) -> str:
        """Return the two-part name; the connection is to one database."""
        return f"{_quoted(schema)}.{_quoted(table)}"

    def server_version(self) -> str:
        """Return the server's version, without the distributor's remark behind it."""
        ((version,),) = flat(self.query("select current_setting('server_version')"))
        return str(version).split(" ")[0]

    def close(self) -> None:
        """End the transaction and the connection."""
        self._connection.close()


def _missing_file(path: Path, root: Path, build_command: str) -> str:
    if not path.is_absolute() and (root / path).is_file():
        return f"There is no {path} in the current folder, but in {root}: run the command there."
    return f"There is no warehouse {path}. Run `{build_command}` first."


def _first_line(told: object) -> str:
    return (str(told).strip().splitlines() or [type(told).__name__])[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
