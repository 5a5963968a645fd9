"""The terminal, as tables are printed on it, and what a command prints and writes at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from medeval.text import visible


class Terminal(Console):
    """A console to which cells and titles are texts, whatever is in them, and never markup."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is."""
        return super().render_str(visible(text), **options)


@dataclass(frozen=True)
class Results:
    """What a command prints and writes.

    Attributes:
        tables: printed first.
        sentences: printed below them.
        warnings: in sentences, for the error stream.
        files: what writes each file.
        left: what is still to be done, in a sentence; empty if all is.
    """

    tables: Sequence[Table]
    sentences: Sequence[str] = ()
    warnings: Sequence[str] = ()
    files: Mapping[Path, Callable[[Path], object]] = field(default_factory=dict)
    left: str = ""

    def show(self) -> None:
        """Write the files, and print everything.

        Raises:
            UserError: a file cannot be written.
        """
        warn(*self.warnings)
        for place, write in self.files.items():
            write(place)
        console = Terminal()
        for table in self.tables:
            console.print(table)
        for sentence in self.sentences:
            print(sentence)
        if self.left:
            warn(self.left)
        for place in self.files:
            print(f"saving the results in {place}")


def warn(*sentences: str) -> None:
    """Print sentences on the error stream."""
    for sentence in sentences:
        print(f"medeval: {sentence}", file=sys.stderr)


def table_of(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table whose cells may break where a terminal is narrow."""
    table = Table(title=title)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
