"""The sources that the models read, as the dbt project declares them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from medeval.profile import Target, project_variable

# The keys of a source that name its variables, in the order in which they count.
_VARIABLES = ("file_variable", "cache_variable", "directory_variable", "database_variable")


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
        subfolders: the folders with the files, if the folder that is named has such ones.
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
    subfolders: tuple[str, ...] = ()
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


def real_path(path: str) -> str:
    """Return an absolute path without links."""
    return os.path.realpath(Path(path).expanduser())


def named_now(floor: str, target: Target, root: Path) -> tuple[str, set[str]]:
    """Return what a build would read now, as `floor_place` of the dbt project says it.

    Args:
        floor: the benchmark.
        target: of profiles.yml.
        root: the project's folder.

    Returns:
        `demo`, or `folder or file`, or `schema`; and the places: paths without links, or schemas.
    """
    entries = [one for one in _declared(root) if one["config"]["meta"]["floor"] == floor]
    if target.type == "postgres":
        names = [project_variable(_schema_variable(one), root) for one in entries]
        return "schema", {f"{target.settings['dbname']}.{name}" for name in names}
    metas = [one["config"]["meta"] for one in entries]
    named = [
        next((path for key in _VARIABLES if (path := os.environ.get(meta.get(key, "")))), "")
        for meta in metas
    ]
    if not any(named):
        return "demo", {real_path(f"{root / meta['demo']}") for meta in metas if meta["demo"]}
    return "folder or file", {real_path(path) for path in named if path}


def variables(root: Path) -> list[str]:
    """Return the environment variables that name a user's own data."""
    metas = [one["config"]["meta"] for one in _declared(root)]
    return list(dict.fromkeys(meta[key] for meta in metas for key in _VARIABLES if key in meta))


def sources(root: Path) -> dict[str, Source]:
    """Read the sources from the `_*__sources.yml` of the staging folders, by name."""
    # A source that is one file of records is no folder of tables.
    return {
        entry["name"]: _source(entry)
        for entry in _declared(root)
        if "file_variable" not in entry["config"]["meta"]
    }


def load_kinds(root: Path) -> dict[str, list[Source]]:
    """Return the sources that `load` copies together, by the word on its command line."""
    kinds: dict[str, list[Source]] = {}
    for source in sources(root).values():
        kinds.setdefault(source.kind, []).append(source)
    return dict(sorted(kinds.items()))


def _declared(root: Path) -> list[dict[str, Any]]:
    files = sorted(root.glob("models/*/staging/_*__sources.yml"))
    read = [yaml.safe_load(path.read_text(encoding="utf-8"))["sources"] for path in files]
    return [entry for entries in read for entry in entries]


def _schema_variable(entry: dict[str, Any]) -> str:
    return re.sub(r".*var\('(\w+)'\).*", r"\1", entry["schema"])


def _source(entry: dict[str, Any]) -> Source:
    meta = entry["config"]["meta"]
    tables = {table["name"]: table["config"]["meta"] for table in entry["tables"]}
    lists = [name for name, of_table in tables.items() if of_table.get("needed_by") == "list"]
    return Source(
        name=entry["name"],
        folder_variable=meta["directory_variable"],
        database_variable=meta.get("database_variable", ""),
        demo=meta.get("demo", ""),
        schema_variable=_schema_variable(entry),
        tables={name: tuple(of_table["columns_read"]) for name, of_table in tables.items()},
        kind=meta.get("load_kind", entry["name"]),
        subfolders=tuple(meta.get("subfolders", ())),
        optional=frozenset(name for name, of_table in tables.items() if of_table.get("optional")),
        list_table=lists[0] if lists else "",
    )
