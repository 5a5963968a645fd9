"""A dbt-duckdb plugin: what SQL cannot see of a file.

DuckDB reads a plain CSV file that is cut inside its last cell without a word, and has no function
for the folder that a relative path starts from. profiles.yml names this module; the macros of
`macros/sources` use the two functions.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.duckdb.plugins import BasePlugin

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def absolute_path(path: str) -> str:
    """Return the path with the current folder in front where it is relative, and ``~`` resolved."""
    return os.path.normpath(Path(path).expanduser().absolute())


def ends_with_newline(path: str) -> bool:
    """Tell whether the last byte of a file is a line end (an empty file has none)."""
    with Path(path).open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) in b"\r\n"


class Plugin(BasePlugin):
    """Registers the functions on the connection that dbt opens."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Register `medeval_absolute_path` and `medeval_ends_with_newline`."""
        text: Any = "VARCHAR"
        conn.create_function("medeval_absolute_path", absolute_path, [text], text)
        conn.create_function("medeval_ends_with_newline", ends_with_newline, [text], "BOOLEAN")
