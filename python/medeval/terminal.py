"""The terminal: tables as they are printed on it, and a bar while something is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from medeval.text import visible


class Terminal(Console):
    """A console to which cells and titles are texts, whatever is in them, and never markup."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is."""
        return super().render_str(visible(text), **options)


Advance = Callable[[int], object]


@contextmanager
def progress(label: str, count: Callable[[], int]) -> Iterator[Advance]:
    """Show how many rows of one task are done; yields the function to call with new rows.

    Args:
        label: what is being written.
        count: the number of rows; asked only if a bar is shown.
    """
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.progress import Progress  # here, not above: pipes and schedulers need no bar

    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(label, total=count())
        yield lambda rows: bars.advance(bar, rows)
