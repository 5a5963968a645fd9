"""A progress bar on a terminal, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
    from rich.console import Console  # here, not above: pipes and schedulers need no bar
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(label, total=count())
        yield lambda rows: bars.advance(bar, rows)
