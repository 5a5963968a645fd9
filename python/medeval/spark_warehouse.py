"""Spark as a warehouse: opened as dbt-spark opens it, and asked in the SQL of the other engines."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from typing import Any

from dbt.adapters.contracts.connection import Connection, Identifier
from dbt.adapters.spark.connections import SparkConnectionManager, SparkCredentials
from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from medeval.errors import UserError
from medeval.raw_files import literal
from medeval.spark_server import ServerError, adapt_pyhive
from medeval.warehouse import Row, Target, Warehouse, flat

# What Spark has no words for, or other ones.
_WORDS = (
    (r' collate "C"', ""),  # its order of texts is that of bytes
    (r"\bas varchar\b", "as string"),
    (r'"([^"]*)"', r"`\1`"),
)


def keep_errors_quiet() -> None:
    """Let pyspark log no error itself: its record quotes the data that a cast has met."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


class SparkWarehouse(Warehouse):
    """Reads the tables that dbt has built. Spark has no transaction: let no dbt run meanwhile."""

    @contextmanager
    def _answered(
        self, sql: str, parameters: Sequence[object]
    ) -> Iterator[Callable[[int], list[Row]]]:
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
        UserError: Spark does not start, or the server cannot be reached.
    """
    keep_errors_quiet()
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
            from pyspark.sql import SparkSession

            builder = SparkSession.builder.enableHiveSupport()
            for name, value in parameters.items():
                builder = builder.config(name, value)
            connection = builder.getOrCreate()
        else:
            # It speaks HiveServer2's protocol.
            adapt_pyhive()
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
