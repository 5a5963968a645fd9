"""The sources that the models read, as the dbt project declares them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Source:
    """One source of the dbt project.

    Attributes:
        name: the source's name.
        folder_variable: the environment variable that names the user's folder of files.
        database_variable: the one that names a DuckDB file with the same tables; nothing if a
            database cannot hold them.
        demo: the folder of the synthetic stand-in, below the project's root; nothing if there is
            none.
        schema_variable: the dbt variable that names the schema of the tables.
        tables: every table, with the columns that the models read.
        kind: the word on the command line of `load`, which several sources may share.
        subfolder: the folder with the files, if the folder that is named has such a one.
        optional: the tables that may have no file.
        list_table: the table that holds the user's list of admissions and has no file of its own;
            nothing if there is none.
    """

    name: str
    folder_variable: str
    database_variable: str
    demo: str
    schema_variable: str
    tables: Mapping[str, tuple[str, ...]]
    kind: str
    subfolder: str = ""
    optional: frozenset[str] = field(default_factory=frozenset)
    list_table: str = ""

    @property
    def file_tables(self) -> list[str]:
        """The tables that files hold, in the order in which they are loaded."""
        return [table for table in self.tables if table != self.list_table]

    @property
    def is_optional(self) -> bool:
        """Whether the source as a whole may be absent."""
        return all(table in self.optional for table in self.file_tables)


def sources(root: Path) -> dict[str, Source]:
    """Read the sources from the `_*__sources.yml` of the staging folders, by name."""
    declared: list[dict[str, Any]] = []
    for path in sorted(root.glob("models/*/staging/_*__sources.yml")):
        declared += yaml.safe_load(path.read_text(encoding="utf-8"))["sources"]
    # A source that is one file of records is no folder of tables.
    return {
        entry["name"]: _source(entry)
        for entry in declared
        if "file_variable" not in entry["config"]["meta"]
    }


def load_kinds(root: Path) -> dict[str, list[Source]]:
    """Return the sources that `load` copies together, by the word on its command line."""
    kinds: dict[str, list[Source]] = {}
    for source in sources(root).values():
        kinds.setdefault(source.kind, []).append(source)
    return dict(sorted(kinds.items()))


def _source(entry: dict[str, Any]) -> Source:
    meta = entry["config"]["meta"]
    variable = re.search(r"var\('(\w+)'\)", entry["schema"])
    tables = {table["name"]: table["config"]["meta"] for table in entry["tables"]}
    lists = [name for name, of_table in tables.items() if of_table.get("needed_by") == "list"]
    return Source(
        name=entry["name"],
        folder_variable=meta["directory_variable"],
        database_variable=meta.get("database_variable", ""),
        demo=meta.get("demo", ""),
        schema_variable=variable[1] if variable else "",
        tables={name: tuple(of_table["columns_read"]) for name, of_table in tables.items()},
        kind=meta.get("load_kind", entry["name"]),
        subfolder=meta.get("subfolder", ""),
        optional=frozenset(name for name, of_table in tables.items() if of_table.get("optional")),
        list_table=lists[0] if lists else "",
    )
