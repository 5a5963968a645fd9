"""Folders of MIMIC-III files for the tests: two small stays, in the full release's layout."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from tables import table

GIVEN = table("mimic3_sources")
TABLES: dict[str, str] = GIVEN["tables"]


def write_folder(folder: Path, tables: Mapping[str, str] = TABLES) -> Path:
    """Write tables as compressed files and return the folder."""
    folder.mkdir(parents=True)
    for name, content in tables.items():
        write(folder / f"{name}.csv.gz", content)
    return folder


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, compressed where its name ends so."""
    data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.name.lower().endswith(".gz") else data)
    return path


def replace(folder: Path, name: str, content: str | bytes, suffix: str = ".csv") -> Path:
    """Write one table of a folder anew, in another form if need be."""
    (folder / f"{name}.csv.gz").unlink()
    return write(folder / f"{name}{suffix}", content)


def with_cell(name: str, column: str, cell: str) -> str:
    """Return the content of a table with one cell of its second row changed."""
    rows = as_frame(TABLES[name])
    rows.loc[1, column.upper()] = cell
    return rows.to_csv(index=False)


def as_frame(content: str) -> pd.DataFrame:
    """Return the cells of a table as they are written."""
    return pd.read_csv(io.StringIO(content), dtype=str, keep_default_na=False)
