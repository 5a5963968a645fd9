"""The raw tables of a source as files: found in a folder, and read as one stream of CSV.

Nothing here knows a benchmark. A file is never repaired: what is cut, damaged or ambiguous stops
with the file's name. The user's list of admissions is read here too.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

from medeval.errors import UserError
from medeval.files import read_text

# In the order of preference where a folder holds several forms of one table.
FORMS = (".csv.gz", ".csv", ".parquet")

_BLOCK = 1 << 20
_PARQUET_ROWS = 1 << 14
# PostgreSQL cuts longer names.
_NAME = re.compile(r"[\w .:()/%#-]{1,63}")
# Of the types of Parquet.
_NO_CELL = re.compile(r"TIME ZONE|STRUCT|MAP|UNION|\[")
_BOM = b"\xef\xbb\xbf"
_ADVICE = "Check the file against SHA256SUMS and download it again."


# Folders of tables


def module_folders(folder: Path, modules: Sequence[str]) -> list[Path]:
    """Return the folders with the files of a source of MIMIC-IV (`hosp`, or `note`).

    The user names the folder that holds the module's folder, or that folder itself. Release 1.0 has
    some tables of `hosp` in `core`, beside it: folders behind the first count where they are there.

    Args:
        folder: what the user names.
        modules: names of folders; none if the files are in `folder` itself.
    """
    if not modules:
        return [folder]
    module, *others = modules
    root = folder.parent if folder.name == module else folder
    first = root / module if (root / module).is_dir() else folder
    return [first, *(root / other for other in others if (root / other).is_dir())]


def find_tables(
    folders: Sequence[Path], tables: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, tuple[list[Path], list[str]]]:
    """Return the files of tables, with all checked that can be before a long reading.

    Names are compared without regard to case (`ADMISSIONS.csv`, `Admissions.CSV.GZ`): the full
    MIMIC-III and its demo differ in it.

    Args:
        folders: where the files are; of two files of one form that of the earlier folder comes
            first.
        tables: the tables to find.
        optional: those of them that may have no file; they are left out of the answer then.

    Returns:
        Of each table its files in all forms, the one that is read first, and the columns of that.

    Raises:
        UserError: no such folder, a table without a file, or one whose header or end is wrong.
    """
    paths: dict[str, list[Path]] = {table: [] for table in tables}
    for folder in folders:
        try:
            entries = sorted(path for path in folder.iterdir() if path.is_file())
        except OSError as error:
            raise UserError(f"The folder {folder} cannot be read: {error.strerror}.") from error
        for path in entries:
            table, _, _ = path.name.lower().partition(".")
            if form_of(path) in FORMS and table in paths:
                paths[table].append(path)
    missing = [table for table, found in paths.items() if not found and table not in optional]
    if missing:
        names = "; ".join(" or ".join(f"{table}{form}" for form in FORMS) for table in missing)
        places = " and ".join(map(str, folders))
        raise UserError(f"Missing in {places}: {names} (names in upper or lower case).")
    tables_found = {}
    for table, found in paths.items():
        found.sort(key=lambda path: FORMS.index(form_of(path)))
        headers = [read_header(path) for path in found]
        for path in found:
            check_last_line(path)
        if found:
            tables_found[table] = found, headers[0]
    return tables_found


def check_rows(paths: Sequence[Path], rows: int | None = None) -> int:
    """Return how many rows all forms of a table have.

    Args:
        paths: its files.
        rows: those of the first, if they are known.

    Raises:
        UserError: they differ, or a file is truncated, damaged or unreadable.
    """
    first, *others = paths
    counts = {first: count_rows(first) if rows is None else rows}
    counts |= {path: count_rows(path) for path in others}
    if len({*counts.values()}) > 1:
        forms = ", ".join(f"{path} ({count} rows)" for path, count in counts.items())
        raise UserError(
            f"The table {first.name.lower().partition('.')[0]} is there in forms that differ:"
            f" {forms}. Keep the one that is complete."
        )
    return counts[first]


def check_columns(
    table: str, location: str, columns: Sequence[str], needed: Sequence[str], known: Sequence[str]
) -> list[str]:
    """Return the columns that nobody knows.

    Args:
        table: its name.
        location: where it is, for messages.
        columns: those that are there.
        needed: those that are read.
        known: those of the source's layout.

    Raises:
        UserError: one that is read is not there.
    """
    missing = [column for column in needed if column not in columns]
    if missing:
        # A file without a header has cells in that place, so only known names are shown.
        shown = [column for column in columns if column in known]
        raise UserError(
            f"{location} has no column {', '.join(missing)}. The table {table} needs it. The header"
            f" has {len(columns)} columns, {len(shown)} of them known: {', '.join(shown)}."
        )
    return [f"{table}.{column}" for column in columns if column not in known]


# One file


def form_of(path: Path) -> str:
    """Return what follows the name of the table."""
    return "".join(path.name.lower().partition(".")[1:])


def read_header(path: Path) -> list[str]:
    """Return the column names of a file in lower case.

    Raises:
        UserError: no header, an empty name, a name that stands twice once case is ignored, or a
            column of Parquet that is no text, number or time without a zone.
    """
    with _reading(path):
        if form_of(path) == ".parquet":
            with closing(duckdb.connect()) as database:
                columns = database.execute(f"describe from {read_parquet(path)}").fetchall()
                # As they are written: a query makes two names of one that stands twice.
                schema = f"select name from parquet_schema({one_file(path)}) offset 1"
                cells = [name for (name,) in database.execute(schema).fetchall()]
            for name, kind, *_ in columns:
                if _NO_CELL.search(kind):
                    raise UserError(
                        f"{path}: column {name} ({kind}) is not as MIMIC's are: one text, number or"
                        " time without a zone in each cell."
                    )
        else:
            head = next(_csv_blocks(path), b"")
            if len(head) + len(_BOM) > _BLOCK and b"\n" not in head:
                raise UserError(f"{path}: the header is longer than {_BLOCK:,} bytes.")
            # Text that is not UTF-8 is for the database to report: it knows the line.
            text = io.StringIO(head.decode(errors="replace"), newline="")
            cells = next(csv.reader(text), [])
    names = [cell.strip().lower() for cell in cells]
    if not names:
        raise UserError(f"{path} is empty: it has no header.")
    # A file without a header has cells in that place, so no name is shown.
    for place, name in enumerate(names):
        if not _NAME.fullmatch(name) or name in names[:place]:
            raise UserError(f"{path}: column {place + 1} of the header has no name of its own.")
    return names


def check_last_line(path: Path) -> None:
    """Stop at a plain CSV whose last line has no line end.

    A download that broke off inside the last cell still has all columns, so that no reader of CSV
    sees it (case C-06). Compressed and Parquet files carry their own end mark.

    Raises:
        UserError: the last byte is not a line end.
    """
    if form_of(path) != ".csv" or not path.stat().st_size:
        return
    with _reading(path), path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) in b"\r\n":
            return
        stream.seek(0)
        line = 1 + sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK), b""))
    raise UserError(
        f"{path} looks truncated: its last line, line {line}, is incomplete: it has no line end."
        f" {_ADVICE}"
    )


def read_blocks(
    path: Path, advance: Callable[[int], object] = lambda count: None
) -> Iterator[bytes]:
    """Yield a file as blocks of UTF-8 CSV with a header line, about a megabyte each.

    CSV passes through unread, but for a byte order mark. In the CSV made from Parquet, a missing
    value is an empty cell and an empty text a quoted empty cell, as COPY wants it (case C-38).

    Args:
        path: the file.
        advance: told after each block how many more bytes of the file are done.

    Raises:
        UserError: a file that is truncated, damaged or unreadable.
    """
    check_last_line(path)
    with _reading(path):
        yield from (
            _parquet_blocks(path) if form_of(path) == ".parquet" else _csv_blocks(path, advance)
        )


def _csv_blocks(
    path: Path, advance: Callable[[int], object] = lambda count: None
) -> Iterator[bytes]:
    with path.open("rb") as raw:
        # The position of the file on disk is the progress.
        stream = gzip.GzipFile(fileobj=raw) if form_of(path) == ".csv.gz" else raw
        done, block = 0, stream.read(_BLOCK).removeprefix(_BOM)
        while block:
            yield block
            advance(raw.tell() - done)
            done, block = raw.tell(), stream.read(_BLOCK)


def _parquet_blocks(path: Path) -> Iterator[bytes]:
    with closing(duckdb.connect()) as connection:
        rows = connection.execute(f"select cast(columns(*) as varchar) from {read_parquet(path)}")
        batch = [tuple(column[0] for column in rows.description)]
        while batch:
            cells = ([_cell(text) for text in row] for row in batch)
            yield "".join(",".join(line) + "\n" for line in cells).encode()
            batch = rows.fetchmany(_PARQUET_ROWS)


def _cell(text: str | None) -> str:
    return "" if text is None else '"' + text.replace('"', '""') + '"'


def read_parquet(path: Path) -> str:
    """Return the expression of DuckDB's SQL that reads a file of Parquet."""
    return f"read_parquet({one_file(path)}, hive_partitioning = false, binary_as_string = true)"


def one_file(path: Path) -> str:
    """Return the literal of a pattern of DuckDB that matches this one path, whatever its name."""
    return "'" + re.sub(r"[*?[]", r"[\g<0>]", f"{path}").replace("'", "''") + "'"


class RowCounter:
    """Counts the logical rows of a CSV stream: a line break inside quotes ends no row."""

    def __init__(self) -> None:
        self._lines = 0
        self._is_inside = False
        self._last = b"\n"

    def feed(self, block: bytes) -> None:
        """Count one more block; a block may end anywhere, but is not empty."""
        # Every other part is outside of quotes; a doubled quote has nothing between its halves.
        parts = block.split(b'"')
        self._lines += sum(part.count(b"\n") for part in parts[self._is_inside :: 2])
        self._is_inside ^= len(parts) % 2 == 0
        self._last = block[-1:]

    @property
    def rows(self) -> int:
        """Rows below the header so far; a last line without a line end is one."""
        return max(0, self._lines + (self._last != b"\n") - 1)


def count_rows(path: Path) -> int:
    """Return how many logical rows a file has below its header.

    Raises:
        UserError: a file that is truncated, damaged or unreadable.
    """
    counter = RowCounter()
    for block in read_blocks(path):
        counter.feed(block)
    return counter.rows


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what a cut, damaged or unreadable file raises into a sentence that names it.

    What the readers say is left out: some of them quote the bytes that they could not read.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, duckdb.Error):
        raise UserError(f"{path} looks truncated or damaged. {_ADVICE}") from None
    except csv.Error:
        raise UserError(f"{path}: the header cannot be read as CSV.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or 'damaged'}.") from error


def read_cohort_file(path: Path) -> list[int]:
    """Read the ids in the order of the file; blank lines do not count.

    Args:
        path: a UTF-8 file; a byte order mark and Windows line ends are accepted. The view of the
            list splits and trims as this does.

    Raises:
        UserError: a file that cannot be read, no id in it, a line that is not a whole number, or
            an id that stands twice.
    """
    first_line: dict[int, int] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        cell = line.strip(" \t\ufeff")
        if not cell:
            continue
        if not re.fullmatch(r"[0-9]{1,9}", cell):
            raise UserError(
                f"{path}, line {number} is not a hadm_id. The file holds one hadm_id a line and "
                "nothing else."
            )
        if int(cell) in first_line:
            raise UserError(
                f"{path}, line {number}: its hadm_id stands in line {first_line[int(cell)]} too."
            )
        first_line[int(cell)] = number
    if not first_line:
        raise UserError(f"The cohort file {path} names no admission.")
    return list(first_line)
