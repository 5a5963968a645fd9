"""A server of Spark, as PyHive speaks to it: the settings of its sessions, and its errors.

What PyHive hands over when it opens a session, Spark's own server passes over in silence: times
would get a zone, and patterns lose their backslashes. And what it says of an error quotes data in
places where no SQLSTATE tells it apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any

# What a server was started with; a session can ask for nothing else.
_OF_THE_START = ("spark.sql.warehouse.dir", "spark.sql.catalogImplementation")
_ERROR = re.compile(
    r"Error running query: (?:\[[\w.]+\] )?[\w.$]*?(?P<name>\w+): \s*"
    r"(?P<said>.*?SQLSTATE: (?P<state>\w{5})[^\n]*)",
    re.DOTALL,
)


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


def adapt_pyhive() -> None:
    """Let PyHive's sessions have the settings they are opened with, and its errors an SQLSTATE.

    A model's contract is checked by the types that PyHive names.
    """
    from dbt.adapters.spark.connections import SparkConnectionManager

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
