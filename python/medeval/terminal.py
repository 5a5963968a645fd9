"""The terminal: tables, bars, and what a command prints and writes at its end."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from medeval.errors import UserError
from medeval.text import visible

Advance = Callable[[int], object]


class Terminal(Console):
    """A console to which cells and titles are texts, whatever is in them, and never markup."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is."""
        return super().render_str(visible(text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a table of numbers that is wider than the terminal loses its lines first."""
        wide = self.options.update(max_width=sys.maxsize)
        for one in objects:
            if not (isinstance(one, Table) and any(column.no_wrap for column in one.columns)):
                continue
            if self.measure(one, options=wide).maximum > self.width:
                one.box, one.padding, one.collapse_padding = SIMPLE_HEAD, (0, 1), True
                one.show_edge = one.pad_edge = False
        super().print(*objects, **options)


def show_results(
    tables: Sequence[Table],
    sentences: Sequence[str],
    *,
    warnings: Sequence[str] = (),
    files: Mapping[Path, Callable[[Path], object]] = MappingProxyType({}),
    left: str = "",
    content: Any,
    bare_nan: bool = False,
    as_json: bool = False,
) -> None:
    """Write the files of a command, and print everything.

    Args:
        tables: printed first.
        sentences: printed below them.
        warnings: in sentences, for the error stream.
        files: what writes each file.
        left: what is still to be done, in a sentence; empty if all is.
        content: what is printed instead of tables and sentences where JSON is wanted.
        bare_nan: the JSON may have NaN.
        as_json: print the content and nothing else on the output stream.

    Raises:
        UserError: a file cannot be written.
    """
    warn(*warnings)
    for place, write in files.items():
        write(place)
    if as_json:
        print_json(content, bare_nan=bare_nan)
    console = Terminal()
    for table in () if as_json else tables:
        console.print(table)
    for sentence in () if as_json else sentences:
        print(sentence)
    if left:
        warn(left)
    for place in () if as_json else files:
        print(f"saving the results in {place}")


def print_json(content: Any, *, bare_nan: bool = False) -> None:
    """Print what a program reads: JSON with an indent of two."""
    print(json.dumps(content, ensure_ascii=False, allow_nan=bare_nan, indent=2))


def require_writable(path: Path) -> None:
    """Stop before the work is done if its result will have no place.

    Raises:
        UserError: the folder is not there or closed, or the path is a folder.
    """
    if path.is_dir():
        raise UserError(f"--out {path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise UserError(f"--out {path}: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"--out {path}: the folder {path.parent} cannot be written.")


def shown(value: float | None) -> str:
    """Return a number as tables show it: four decimals, fewer of a large one."""
    if value is None or not math.isfinite(value):
        return "undefined"
    size = abs(value)
    return f"{value:.4f}" if size < 100 else f"{value:,.1f}" if size < 1e9 else f"{value:.1e}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval as tables show it."""
    ends = shown(low), shown(high)
    return "undefined" if "undefined" in ends else " to ".join(ends)


def warn(*sentences: str) -> None:
    """Print sentences on the error stream."""
    for sentence in sentences:
        print(f"medeval: {sentence}", file=sys.stderr)


def say(line: str) -> None:
    """Print a line beside the results, on the error stream."""
    print(line, file=sys.stderr)


def table_of(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int | None = None
) -> Table:
    """Return a table; where a terminal is narrow names are folded, and numbers stay whole.

    Args:
        title: above it.
        columns: what stands above each.
        rows: their cells.
        names: so many columns are names, and numbers the others; None for names alone.
    """
    table = Table(title=title)
    for place, column in enumerate(columns):
        is_number = names is not None and place >= names
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(column, overflow="fold", justify=justify, no_wrap=is_number)
    for row in rows:
        table.add_row(*row)
    return table


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
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(label, total=count())
        yield lambda rows: bars.advance(bar, rows)
