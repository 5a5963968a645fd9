"""The sources that the models read, as the dbt project declares them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Source:
    """One source of the dbt project.

    Attributes:
        name: the source's name, also the word on the command line.
        folder_variable: the environment variable that names the user's folder of files.
        database_variable: the one that names a DuckDB file with the same tables.
        demo: the folder of the synthetic stand-in, below the project's root.
        schema_variable: the dbt variable that names the schema of the tables.
        tables: every table that must be there, with the columns that the models read.
    """

    name: str
    folder_variable: str
    database_variable: str
    demo: str
    schema_variable: str
    tables: Mapping[str, tuple[str, ...]]


def sources(root: Path) -> dict[str, Source]:
    """Read the sources from the `_*__sources.yml` of the staging folders, by name."""
    declared: list[dict[str, Any]] = []
    for path in sorted(root.glob("models/*/staging/_*__sources.yml")):
        declared += yaml.safe_load(path.read_text(encoding="utf-8"))["sources"]
    return {entry["name"]: _source(entry) for entry in declared}


def _source(entry: dict[str, Any]) -> Source:
    meta = entry["config"]["meta"]
    variable = re.search(r"var\('(\w+)'\)", entry["schema"])
    return Source(
        name=entry["name"],
        folder_variable=meta["directory_variable"],
        database_variable=meta["database_variable"],
        demo=meta["demo"],
        schema_variable=variable[1] if variable else "",
        tables={
            table["name"]: tuple(table["config"]["meta"]["columns_read"])
            for table in entry["tables"]
        },
    )
