"""The tables that the cases are read from: typed, and filtered to the listed admissions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from oracles.cdm.databases import Database

SCHEMA = "cdm_baseline"
TABLES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text("utf-8")
)
ASSIGN = Path(__file__).with_name("assign.sql")
# The rows of the listed admissions.
OF_ADMISSION = "hadm_id in (select hadm_id from cohort)"


def prepare(database: Database, hadm_ids: Sequence[int], *, with_indexes: bool) -> None:
    """Make the tables of the listed admissions, and tie events without an admission to them."""
    database.run(f"create schema {SCHEMA}")
    database.run(f"set search_path = '{SCHEMA}'")
    ids = ", ".join(f"({int(hadm_id)})" for hadm_id in hadm_ids)
    database.run("create table cohort (hadm_id integer)")
    database.run(f"insert into cohort values {ids}")
    indexes = {}
    for table in TABLES:
        name, columns = table["name"], table["columns"]
        cells = (f"cast(nullif({key}, '') as {kind}) as {key}" for key, kind in columns.items())
        typed = f"select {', '.join(cells)} from {database.raw(table['module'], name)}"
        rows = table.get("rows", OF_ADMISSION)
        database.run(f"create table {name} as select * from ({typed}) as typed where {rows}")
        indexes[name] = table["index"]
        if table.get("assigned"):
            _assign(database, name, typed, columns)
            indexes[f"{name}_assigned"] = table["index"]
    for name, column in indexes.items():
        if with_indexes:
            database.run(f"create index {name}_{column} on {name} ({column})")
        database.run(f"analyze {name}")


def _assign(database: Database, table: str, typed: str, columns: dict[str, str]) -> None:
    """Give a row to every admission of its patient that was open at its time."""
    names = (f"stays.{name}" if name == "hadm_id" else f"typed.{name}" for name in columns)
    statement = ASSIGN.read_text("utf-8")
    database.run(statement.format(table=table, names=", ".join(names), typed=typed))
