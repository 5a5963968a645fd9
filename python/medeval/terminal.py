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
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from medeval.errors import UserError, os_error_as
from medeval.files import replace_file
from medeval.text import visible

Advance = Callable[[int], object]


class Terminal(Console):
    """A console to which cells and titles are texts, whatever is in them, and never markup.

    Args:
        stderr: print on the error stream.
        whole_words: a table whose words have no room side by side is wider than the terminal; else
            they are folded.
    """

    def __init__(self, *, stderr: bool = False, whole_words: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)
        self._whole_words = whole_words

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is."""
        return super().render_str(visible(text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a table that is too wide loses its lines before a word or a number is broken."""
        wide = self.options.update(max_width=sys.maxsize)
        for one in objects:
            if isinstance(one, Table) and self.measure(one, options=wide).maximum > self.width:
                self._narrow(one)
        super().print(*objects, **options)

    def _narrow(self, table: Table) -> None:
        """Give each column its longest word, or number, and its share of what is left."""
        count, needed, whole = len(table.columns), list[int](), list[int]()
        for column in table.columns:
            lines = visible("\n".join(map(str, (column.header, *column.cells)))).splitlines()
            whole.append(max(map(cell_len, lines)))
            words = (cell_len(word) for line in lines for word in line.split())
            needed.append(whole[-1] if column.no_wrap else max(words, default=0))
        room = self.width - sum(needed)
        if whole == needed or room < 3 * count + 1:
            gap = 2 if room >= 2 * (count - 1) else 1
            table.box, table.padding = SIMPLE_HEAD, (0, gap - 1, 0, 0)
            table.show_edge = table.pad_edge = False
            room -= gap * (count - 1)
        else:
            room -= 3 * count + 1
        if self._whole_words and room < 0:
            self.width, room = self.width - room, 0
        # The least wanting first; where not even words have room, all are folded alike.
        by_need = sorted(range(count * (room >= 0)), key=lambda at: whole[at] - needed[at])
        for done, place in enumerate(by_need):
            more = min(whole[place] - needed[place], room // (count - done))
            table.columns[place].width = needed[place] + more
            room -= more


def show_results(
    tables: Sequence[Table],
    sentences: Sequence[str],
    *,
    warnings: Sequence[str] = (),
    files: Mapping[Path, str] = MappingProxyType({}),
    out: Path | None = None,
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
        files: the text of each file.
        out: a file for the content, in one line.
        left: what is still to be done, in a sentence; empty if all is.
        content: what is printed instead of tables and sentences where JSON is wanted.
        bare_nan: the JSON may have NaN.
        as_json: print the content and nothing else on the output stream.

    Raises:
        UserError: a file cannot be written.
    """
    warn(*warnings)
    if out is not None:
        line = json.dumps(content, allow_nan=bare_nan, ensure_ascii=False)
        files = {**files, out: f"{line}\n"}
    for place, text in files.items():
        with os_error_as(f"Cannot write {place}: {{why}}."):
            replace_file(place, text.encode())
    if as_json:
        print_json(content, bare_nan=bare_nan)
    for table in () if as_json else tables:
        Terminal().print(table)
    for sentence in () if as_json else sentences:
        print(sentence)
    if left:
        warn(left)
    for place in () if as_json else files:
        print(f"saving the results in {place}")


def print_json(content: Any, *, bare_nan: bool = False) -> None:
    """Print what a program reads: JSON with an indent of two, in any encoding of the output."""
    is_narrow = str(sys.stdout.encoding).lower() != "utf-8"
    print(json.dumps(content, ensure_ascii=is_narrow, allow_nan=bare_nan, indent=2))


def require_writable(path: Path) -> None:
    """Stop before the work is done if its result will have no place.

    Raises:
        UserError: the folder is not there or closed, or the path is a folder.
    """
    if path.is_dir():
        raise UserError(f"--out {path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise UserError(f"--out {path}: there is no folder {path.parent}.")
    # A device or a pipe is written into.
    if not os.access(path.parent if path.is_file() or not path.exists() else path, os.W_OK):
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
