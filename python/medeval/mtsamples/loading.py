"""Notes as rows for PostgreSQL, whose SQL cannot read a user's files."""

from __future__ import annotations

from collections.abc import Iterator

from medeval.mtsamples.notes import Notes
from medeval.row_loading import RowSource

SOURCE = RowSource("mtsamples", "mtsamples_schema", "notes", ("filename", "text", "data_class"))


def note_rows(notes: Notes) -> Iterator[tuple[str, str, str]]:
    """Yield one row a note, for the columns of `SOURCE`."""
    return ((note.filename, note.text, note.data_class) for note in notes.notes)
