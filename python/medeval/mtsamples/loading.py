"""Notes into PostgreSQL, whose SQL cannot read a user's files."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from pathlib import Path

from medeval.load import LoadedTable, Part, load_parts
from medeval.mtsamples.notes import Notes
from medeval.profile import Target
from medeval.sources import Source

KIND = "mtsamples"
SCHEMA_VARIABLE = "mtsamples_schema"
TABLE = "notes"
COLUMNS = ("filename", "text")


def load_notes(
    notes: Notes,
    target: Target,
    schema: str,
    *,
    replace: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> LoadedTable:
    """Load the notes into PostgreSQL, in one transaction.

    Raises:
        UserError: a schema that exists, or a database that refuses.
    """
    plan = Source(
        name=KIND,
        folder_variable="",
        database_variable="",
        demo="",
        schema_variable=SCHEMA_VARIABLE,
        tables={TABLE: COLUMNS},
        kind=KIND,
    )
    with tempfile.TemporaryDirectory(prefix="medeval-") as folder:
        with Path(folder, f"{TABLE}.csv").open("w", encoding="utf-8", newline="") as file:
            # Quoted, so that an empty file is an empty text and not a missing one.
            writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writerow(COLUMNS)
            writer.writerows((note.filename, note.text) for note in notes.notes)
        part = Part(plan, Path(folder), schema)
        (loaded,) = load_parts([part], target, replace=replace, say=say)
    return loaded
