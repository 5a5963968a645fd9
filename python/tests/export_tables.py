"""Hand-made published tables in the current folder's warehouse, and exports of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from in_process import Main

# Called as the project's own file, so that it holds a schema of the same name: `medeval`.
DATABASE = Path("medeval.duckdb")


@contextmanager
def new_warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    """Have the warehouse made anew by the statements of a block."""
    DATABASE.unlink(missing_ok=True)
    with duckdb.connect() as connection:
        # DuckDB takes no schema that is called as its file.
        connection.execute(f"attach '{DATABASE}' as made; use made")
        yield connection


def refusal(main: Main, *args: str | Path) -> str:
    """Run an export that must end with one sentence and exit code 2; return the sentence."""
    done = main("export", *args, code=2)
    assert done.out == ""
    # That another benchmark is left out is no part of the refusal.
    lines = [line for line in done.err.splitlines() if "is not built, left out" not in line]
    assert lines[-1].startswith("medeval: ")
    assert "Traceback" not in done.err
    return lines[-1]


def manifest(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8")))
