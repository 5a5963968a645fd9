"""Spark: sources as folders of Parquet, a server's sessions and errors, the warehouse.

It is opened as dbt-spark opens it, and asked in the SQL of the other engines. What PyHive hands
over when it opens a session, Spark's own server passes over in silence: times would get a zone, and
patterns lose their backslashes. And what it says of an error quotes data in places where no
SQLSTATE tells it apart. pyspark and dbt-spark, an extra, are imported where they are needed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import islice
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from medeval.duckdb_files import Found, Table, Views
from medeval.errors import UserError
from medeval.raw_files import literal
from medeval.sources import Place, is_optional
from medeval.warehouse import NextRows, Target, Warehouse, flat

# Runs a statement, and returns a table with `rows`.
Query = Callable[[str], Any]

_NOT_THERE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")
# What a server was started with; a session can ask for nothing else.
_OF_THE_START = ("spark.sql.warehouse.dir", "spark.sql.catalogImplementation")
_ERROR = re.compile(
    r"Error running query: (?:\[[\w.]+\] )?[\w.$]*?(?P<name>\w+): \s*"
    r"(?P<said>.*?SQLSTATE: (?P<state>\w{5})[^\n]*)",
    re.DOTALL,
)
# What Spark has no words for, or other ones.
_WORDS = (
    (r' collate "C"', ""),  # its order of texts is that of bytes
    (r"\bas varchar\b", "as string"),
    (r'"([^"]*)"', r"`\1`"),
)


# The sources: folders of Parquet, as `load --to parquet` writes them, or tables


def parquet_views(query: Query, tables: Sequence[Table], place: Place) -> Views:
    """Return the views over one source: the columns that the models read, as text.

    Spark itself looks where the files are, which may be no disk of this machine.

    Args:
        query: see `Query`.
        tables: of the source, all or some.
        place: of the source.

    Raises:
        UserError: a table or column is not there, or the place is no folder of Parquet.
    """
    views = Views()
    meta = tables[0]["config"]["meta"]
    advice = f"`python -m medeval load {meta['load_kind']} --to parquet DIR` writes such a folder."
    if place.kind == "database":
        raise UserError(f"Spark reads folders of Parquet, not {place.description}. {advice}")
    for table in sorted(tables, key=lambda table: str(table["name"])):
        name = str(table["name"])
        folders = [f"{place.location}/{folder}" for folder in meta.get("subfolders", ())]
        paths = [f"{folder}/{name}.parquet" for folder in (*folders, place.location)]
        found = [
            Found(path, columns, f"parquet.`{path}`")
            for path in (paths if place.kind != "absent" else ())
            if (columns := _columns(query, f"query select * from parquet.`{path}`"))
        ]
        if not found and place.kind != "absent" and not is_optional(table):
            raise UserError(f"Missing in {place.location}: {name}.parquet. {advice}")
        views.add(table, next(iter(found), None), "string", "`")
    return views.of(tables[0]["source_name"], place)


def spark_columns(query: Query, schema: str) -> Mapping[str, Sequence[str]]:
    """Return the columns of every table of a schema, by its name; none if there is no schema."""
    names = [str(row[1]) for row in _rows(query, f"show tables in {schema}")]
    return {name: _columns(query, f"{schema}.{name}") for name in names}


def _columns(query: Query, what: str) -> list[str]:
    """Return the columns in lower case; none of what is not there."""
    names = [str(row[0]).lower() for row in _rows(query, f"describe {what}")]
    # Behind them stand the columns by which files are parted, a second time.
    return names[: next((place for place, name in enumerate(names) if name[:1] in ("", "#")), None)]


def _rows(query: Query, statement: str) -> Sequence[Any]:
    """Return the rows of a statement; none where what it names is not there."""
    try:
        rows: Sequence[Any] = query(statement).rows
    except DbtRuntimeError as error:
        if not any(code in str(error) for code in _NOT_THERE):
            raise
        return ()
    return rows


# A server of Spark, as PyHive speaks to it


class ServerError(Exception):
    """What a server says of a statement, as pyspark would have raised it."""

    state: str | None = None

    def getSqlState(self) -> str | None:  # noqa: N802
        """Return the SQLSTATE, as pyspark's errors do; None where the server gives none."""
        return self.state


def server_error(said: str) -> ServerError:
    """Return the error in a server's words, which have a stack of Java's calls behind them."""
    found = _ERROR.search(said)
    if not found:
        return ServerError(said)
    kind: type[ServerError] = type(found["name"], (ServerError,), {"state": found["state"]})
    return kind(found["said"])


def session_settings(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return those of the profile's settings that a session of a server can take."""
    return {
        name: value
        for name, value in parameters.items()
        if name.startswith("spark.sql.") and name not in _OF_THE_START
    }


def adapt_clients() -> None:
    """Let PyHive's sessions have the settings they are opened with, and its errors an SQLSTATE.

    A model's contract is checked by the types that PyHive names. And pyspark logs no error itself:
    its record quotes the data that a cast has met.
    """
    from dbt.adapters.spark.connections import SparkConnectionManager
    from pyspark.logger import PySparkLogger

    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL + 1)
    try:
        from pyhive import exc, hive
    except ImportError:  # dbt-spark says what to install
        return
    if hasattr(hive, "medeval_connects"):
        return
    name_of_type = SparkConnectionManager.data_type_code_to_name
    connect, close = hive.connect, hive.Connection.close
    execute, poll = hive.Cursor.execute, hive.Cursor.poll

    def execute_and_name(cursor: Any, *arguments: Any, **options: Any) -> None:
        try:
            execute(cursor, *arguments, **options)
        except exc.Error as error:
            # An error of PyHive holds the whole answer of the server.
            status = getattr(error.args[0] if error.args else None, "status", None)
            said = getattr(status, "errorMessage", None) or type(error).__name__
            raise server_error(str(said)) from None

    def poll_and_name(cursor: Any, *arguments: Any, **options: Any) -> Any:
        state = poll(cursor, *arguments, **options)
        if state.errorMessage:
            raise server_error(state.errorMessage)
        return state

    # The connection is closed by then; the server of pyspark 4.3 lacks a library to end a session.
    def close_anyhow(connection: Any) -> None:
        with suppress(exc.Error):
            close(connection)

    def connect_with_settings(*arguments: Any, **options: Any) -> Any:
        parameters = session_settings(options.pop("configuration", None) or {})
        connection = connect(*arguments, **options, configuration=parameters)
        with closing(connection.cursor()) as cursor:
            for name, value in parameters.items():
                cursor.execute(f"set {name} = {value}")
        return connection

    # Texts of seeds have a length, which a session of this machine does not tell either.
    def name_without_length(code: str) -> str:
        name = str(name_of_type(code))
        return "STRING_TYPE" if name in ("CHAR_TYPE", "VARCHAR_TYPE") else name

    SparkConnectionManager.data_type_code_to_name = staticmethod(name_without_length)
    hive.connect, hive.Connection.close = connect_with_settings, close_anyhow
    hive.Cursor.execute, hive.Cursor.poll = execute_and_name, poll_and_name
    hive.medeval_connects = True


# The warehouse


class SparkWarehouse(Warehouse):
    """Reads the tables that dbt has built. Spark has no transaction: let no dbt run meanwhile."""

    @contextmanager
    def _answered(self, sql: str, parameters: Sequence[object]) -> Iterator[NextRows]:
        """See `Warehouse`."""
        sql = _spark_sql(sql, parameters)
        with ExitStack() as stack:
            rows: Any
            if hasattr(self._connection, "sql"):  # Spark in this process
                # A part of the answer at a time: a table may be larger than memory.
                rows = self._connection.sql(sql).toLocalIterator()
            else:
                rows = stack.enter_context(closing(self._connection.cursor()))
                rows.execute(sql)
            left = iter(rows)
            yield lambda count: [tuple(row) for row in islice(left, count)]

    def __exit__(self, *failure: object) -> None:
        is_here = hasattr(self._connection, "sql")
        (self._connection.stop if is_here else self._connection.close)()

    def columns(self, schema: str, table: str) -> list[str]:
        """Return the column names of a table in their order; none if there is no such table."""
        there = self.query(f"show tables in {schema} like '{table}'")
        if (schema,) not in flat(self.query("show databases")) or not flat(there):
            return []
        return [str(row[0]) for row in flat(self.query(f"describe {schema}.{table}"))]

    def relation(self, schema: str, table: str) -> str:
        """Return the quoted name of a table."""
        return f"`{schema}`.`{table}`"


def open_spark(target: Target) -> SparkWarehouse:
    """Open a target of Spark: a session within this process, or the server that it names.

    Raises:
        UserError: Spark is not installed or does not start, or the server cannot be reached.
    """
    try:
        from dbt.adapters.contracts.connection import Connection, Identifier
        from dbt.adapters.spark.connections import SparkConnectionManager, SparkCredentials
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise UserError("Spark is not installed: `pip install medeval[spark]`.") from None
    adapt_clients()
    settings = {name: value for name, value in target.settings.items() if value not in ("", None)}
    for name in ("type", "threads"):
        settings.pop(name, None)
    try:
        credentials = SparkCredentials(**settings)
    except DbtRuntimeError as error:
        raise UserError(f"The target {target.name} of profiles.yml: {error}") from None
    parameters = {**credentials.server_side_parameters, "spark.sql.ansi.enabled": "true"}
    try:
        if credentials.method == "session":
            builder = SparkSession.builder.enableHiveSupport()
            for name, value in parameters.items():
                builder = builder.config(name, value)
            connection = builder.getOrCreate()
        else:
            # It speaks HiveServer2's protocol.
            credentials.server_side_parameters = parameters
            named = Connection(Identifier("spark"), "medeval", credentials=credentials)
            connection = SparkConnectionManager.open(named).handle.handle
    except (PySparkException, Py4JError, DbtRuntimeError, OSError) as error:
        first = str(error).strip().split("\n")[0].removesuffix(".")
        if credentials.method != "session":
            raise UserError(
                f"The server of Spark cannot be used ({credentials.host}, port {credentials.port}):"
                f" {first}. Check MEDEVAL_SPARK_METHOD, MEDEVAL_SPARK_HOST and MEDEVAL_SPARK_PORT."
            ) from None
        raise UserError(
            f"Spark does not start: {first}. It needs Java 17 or later (JAVA_HOME), and no other"
            " process that has its folder (MEDEVAL_SPARK_DIR) open."
        ) from None
    return SparkWarehouse(target, connection, (PySparkException, Py4JError, ServerError))


def _spark_sql(sql: str, parameters: Sequence[object]) -> str:
    """Return a statement in Spark's words, with the values of its parameters in it."""
    for pattern, words in _WORDS:
        sql = re.sub(pattern, words, sql)

    def value(found: re.Match[str]) -> str:
        given = parameters[int(found[1]) - 1]
        return literal(given) if isinstance(given, str) else str(given)

    return re.sub(r"\$(\d+)", value, sql) if parameters else sql
