"""Files of a folder written anew, as rows of tables say."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from commands import PROJECT_ROOT
from mimic3_folder import TABLES, write


def change(folder: Path, files: Mapping[str, Any]) -> None:
    """Write files: a text, compressed as its name says, columns of Parquet, or None to remove."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if content is None and path.is_dir():
            shutil.rmtree(path)
        elif content is None:
            path.unlink()
        elif path.suffix == ".parquet":
            pq.write_table(pa.table(content), path)
        else:
            write(path, filled(content, folder) if isinstance(content, str) else content)


def filled(text: str, folder: Path) -> str:
    """Return a text of a row with the places of its folder and of the project, and with tables."""
    return Template(text).safe_substitute(TABLES, FOLDER=folder, PROJECT=PROJECT_ROOT)


# Detected, a code loses its leading zeros and an empty column its type.
_TEXTS = {
    *("ICD9_CODE", "VALUE", "VALUEUOM"),
    *("icd_code", "value", "deathtime", "comments", "org_name"),
}


def database(path: Path, files: Path, schema: str = "main", *, upper: bool = False) -> Path:
    """Make a DuckDB file of a folder's tables as mimic-code does, where texts are texts."""
    with duckdb.connect(path) as connection:
        connection.execute(f"create schema if not exists {schema}")
        for file in sorted(files.glob("*.csv.gz")):
            name = file.name.removesuffix(".csv.gz")
            header = gzip.decompress(file.read_bytes()).split(b"\n", 1)[0].decode().split(",")
            types = ", ".join(
                f"'{text}': 'varchar'" for text in sorted(_TEXTS.intersection(header))
            )
            connection.execute(
                f'create table {schema}."{name.upper() if upper else name}" as from '
                f"read_csv('{file}', types = {{{types}}}, quote = '\"', escape = '\"')"
            )
    return path
