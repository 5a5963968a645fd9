"""Connections to the PostgreSQL that a target of profiles.yml names; the password stays inside."""

from __future__ import annotations

import re
from typing import Any

import psycopg

from medeval import engine_errors
from medeval.errors import UserError
from medeval.profile import Target

Connection = psycopg.Connection[tuple[Any, ...]]

CONNECT_TIMEOUT_SECONDS = 15

# What of a dbt profile libpq knows, by dbt's name for it.
_SETTINGS = {
    "host": "host",
    "port": "port",
    "user": "user",
    "password": "password",
    "pass": "password",
    "dbname": "dbname",
    "database": "dbname",
    "sslmode": "sslmode",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslrootcert": "sslrootcert",
}


def connect(target: Target, *, read_only: bool = False) -> Connection:
    """Open a connection.

    Args:
        target: a PostgreSQL target.
        read_only: whether the server refuses to write; all queries then see one state.

    Raises:
        UserError: the server cannot be reached or refuses.
    """
    options = {
        ours: target.settings[theirs]
        for theirs, ours in _SETTINGS.items()
        if target.settings.get(theirs) not in (None, "")
    }
    if read_only:
        options["options"] = "-c default_transaction_read_only=on"
    try:
        connection = psycopg.connect(
            **options,
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            client_encoding="UTF8",
            application_name="medeval",
        )
    except psycopg.Error as error:
        place = ", ".join(
            f"{key} {options[key]}" for key in ("host", "port", "dbname", "user") if key in options
        )
        # `from None`: the driver's own exception may hold what was taken out of the message. The
        # place may hold it too, where an address was given as the host.
        raise UserError(
            _without_password(target, f"Cannot connect to PostgreSQL ({place}): {error}")
            + " Check PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE."
        ) from None
    if read_only:
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    return connection


def shown(target: Target, error: psycopg.Error) -> str:
    """Return what may be said of an error in one line, without the password, also in an address."""
    return _without_password(target, engine_errors.shown(error).split("\n")[0])


def _without_password(target: Target, text: str) -> str:
    line = re.sub(r"://[^@\s]*@", "://***@", " ".join(text.split()))
    password = str(target.settings.get("password") or target.settings.get("pass") or "")
    return line.replace(password, "***") if password else line
