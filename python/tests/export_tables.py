"""Hand-made published tables in a warehouse, and `python -m medeval export` in this process."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import PROJECT_ROOT

from medeval import cli

Tables = dict[str, list[Sequence[Any]]]
Layout = Mapping[str, str]


def fill_duckdb(path: Path, layout: Layout, tables: Tables) -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect() as connection:
        # Under its own name the file would hold a schema of the same name.
        connection.execute(f"attach '{path}' as made; use made")
        for name, rows in tables.items():
            connection.execute(f"create schema if not exists {name.split('.')[0]}")
            connection.execute(f"create table {name} ({layout[name]})")
            if rows:
                cells = ", ".join("?" * len(rows[0]))
                connection.executemany(f"insert into {name} values ({cells})", rows)


def warehouse_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with the project's settings; return its warehouse, which is not there yet.

    It is called as the project's own file, which then holds a schema of the same name: `medeval`.
    """
    for name in ("dbt_project.yml", "profiles.yml"):
        shutil.copy(PROJECT_ROOT / name, folder)
    (folder / "models").symlink_to(PROJECT_ROOT / "models")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(folder / "medeval.duckdb"))
    monkeypatch.setenv("MEDEVAL_TEMP_DIR", str(folder / "spill"))
    return folder / "medeval.duckdb"


def run(*args: str | Path) -> int:
    """Run the command line in this process; return its exit code."""
    sys.argv = ["medeval", "export", *map(str, args)]
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def refusal(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    """Run an export that must end with one sentence and exit code 2; return the sentence."""
    capsys.readouterr()
    assert run(*args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    # That another benchmark is left out is no part of the refusal.
    lines = [line for line in captured.err.splitlines() if "is not built, left out" not in line]
    assert lines[-1].startswith("medeval: ")
    assert "Traceback" not in captured.err
    return lines[-1]


def manifest(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8")))
