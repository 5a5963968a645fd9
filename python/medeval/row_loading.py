"""Rows that a benchmark reads from files of a form of its own, as a table of PostgreSQL."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from medeval.load import LoadedTable, Part, load_parts
from medeval.profile import Target
from medeval.sources import Source


@dataclass(frozen=True)
class RowSource:
    """A source of one table whose rows are made here, since no SQL reads its files.

    Attributes:
        kind: as `load` calls it.
        schema_variable: the dbt variable with the name of its schema.
        table: its one table.
        columns: of the table.
    """

    kind: str
    schema_variable: str
    table: str
    columns: tuple[str, ...]


def load_rows(
    rows: Iterable[Sequence[object]],
    source: RowSource,
    target: Target,
    schema: str,
    *,
    replace: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> LoadedTable:
    """Load rows into a new schema, in one transaction; see `load_parts`.

    Raises:
        UserError: a schema that exists, or a database that refuses.
    """
    plan = Source(
        name=source.kind,
        folder_variable="",
        database_variable="",
        demo="",
        schema_variable=source.schema_variable,
        tables={source.table: source.columns},
        kind=source.kind,
    )
    with tempfile.TemporaryDirectory(prefix="medeval-") as folder:
        with Path(folder, f"{source.table}.csv").open("w", encoding="utf-8", newline="") as file:
            # Quoted, so that an empty text is a text and not a missing one.
            writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writerow(source.columns)
            writer.writerows(rows)
        (loaded,) = load_parts([Part(plan, Path(folder), schema)], target, replace=replace, say=say)
    return loaded
