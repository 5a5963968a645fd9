"""Notes into PostgreSQL, whose SQL cannot read a user's files."""

from __future__ import annotations

from collections.abc import Callable

from medeval.load import LoadedTable
from medeval.mtsamples.notes import Notes
from medeval.profile import Target
from medeval.row_loading import RowSource, load_rows

SCHEMA_VARIABLE = "mtsamples_schema"
_SOURCE = RowSource("mtsamples", SCHEMA_VARIABLE, "notes", ("filename", "text", "data_class"))


def load_notes(
    notes: Notes,
    target: Target,
    schema: str,
    *,
    replace: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> LoadedTable:
    """Load the notes, in one transaction.

    Raises:
        UserError: a schema that exists, or a database that refuses.
    """
    rows = ((note.filename, note.text, note.data_class) for note in notes.notes)
    return load_rows(rows, _SOURCE, target, schema, replace=replace, say=say)
