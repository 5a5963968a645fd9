"""The raw tables of a source as files: found in a folder, and read as one stream of CSV.

Nothing here knows a benchmark or a database. A file is never repaired: what is cut, damaged or
ambiguous stops with the file's name. The user's list of admissions is read here too.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from medeval.errors import UserError

# In the order of preference where a folder holds several forms of one table.
FORMS = (".csv.gz", ".csv", ".parquet")

_BLOCK = 1 << 20
_PARQUET_ROWS = 1 << 16
# PostgreSQL cuts longer names.
_NAME = re.compile(r"[\w .:()/%#-]{1,63}")
_BOM = b"\xef\xbb\xbf"
_ADVICE = "Check the file against SHA256SUMS and download it again."


@dataclass(frozen=True)
class RawFile:
    """One file of a table: where it is, and in which of `FORMS`."""

    table: str
    path: Path
    form: str


@dataclass(frozen=True)
class RawTable:
    """The files of a table: the one that is read, other forms of it, and its columns."""

    file: RawFile
    others: list[RawFile]
    columns: list[str]

    def check_rows(self, rows: int | None = None) -> int:
        """Return how many rows all forms have; `rows` are those of the first, if known.

        Raises:
            UserError: they differ, or a file is truncated, damaged or unreadable.
        """
        files = [self.file, *self.others]
        counts = [count_rows(self.file) if rows is None else rows, *map(count_rows, self.others)]
        if len({*counts}) > 1:
            forms = (f"{file.path} ({n} rows)" for file, n in zip(files, counts, strict=True))
            raise UserError(
                f"The table {self.file.table} is there in forms that differ: {', '.join(forms)}."
                " Keep the one that is complete."
            )
        return counts[0]


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


def find_files(
    folders: Sequence[Path], tables: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, list[RawFile]]:
    """Return each table's files in folders, the preferred one first.

    Names are compared without regard to case (`ADMISSIONS.csv`, `Admissions.CSV.GZ`): the full
    MIMIC-III and its demo differ in it.

    Args:
        folders: where the files are; of two files of one form that of the earlier folder comes
            first.
        tables: the tables to find.
        optional: those of them that may have no file; they are left out of the answer then.

    Raises:
        UserError: no such folder, or a table without a file.

    """
    paths: list[Path] = []
    for folder in folders:
        try:
            paths += sorted(path for path in folder.iterdir() if path.is_file())
        except OSError as error:
            raise UserError(f"The folder {folder} cannot be read: {error.strerror}.") from error
    found: dict[str, list[RawFile]] = {table: [] for table in tables}
    for path in paths:
        table, dot, ending = path.name.lower().partition(".")
        if dot + ending in FORMS and table in found:
            found[table].append(RawFile(table, path, dot + ending))
    missing = [table for table, files in found.items() if not files and table not in optional]
    if missing:
        names = "; ".join(" or ".join(f"{table}{form}" for form in FORMS) for table in missing)
        places = " and ".join(map(str, folders))
        raise UserError(f"Missing in {places}: {names} (names in upper or lower case).")
    return {
        table: sorted(files, key=lambda file: FORMS.index(file.form))
        for table, files in found.items()
        if files
    }


def checked_tables(
    folders: Sequence[Path], tables: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, RawTable]:
    """Return the files of tables, with all checked that can be before a long reading.

    Raises:
        UserError: as `find_files`, `read_header` and `check_last_line` do.
    """
    found = {}
    for table, files in find_files(folders, tables, optional).items():
        headers = [read_header(file) for file in files]
        for file in files:
            check_last_line(file)
        found[table] = RawTable(files[0], files[1:], headers[0])
    return found


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


def read_header(file: RawFile) -> list[str]:
    """Return the column names of a file in lower case.

    Raises:
        UserError: no header, an empty name, or a name that stands twice once case is ignored.

    """
    if file.form == ".parquet":
        with _reading(file):
            cells = pq.read_schema(file.path).names
    else:
        head, _ = next(_csv_blocks(file), (b"", 0))
        if len(head) + len(_BOM) > _BLOCK and b"\n" not in head:
            raise UserError(f"{file.path}: the header is longer than {_BLOCK:,} bytes.")
        with _reading(file):
            # Text that is not UTF-8 is for the database to report: it knows the line.
            text = io.StringIO(head.decode(errors="replace"), newline="")
            cells = next(csv.reader(text), [])
    names = [cell.strip().lower() for cell in cells]
    if not names:
        raise UserError(f"{file.path} is empty: it has no header.")
    # A file without a header has cells in that place, so no name is shown.
    for place, name in enumerate(names):
        if not _NAME.fullmatch(name) or name in names[:place]:
            raise UserError(
                f"{file.path}: column {place + 1} of the header has no name of its own."
            )
    return names


def check_last_line(file: RawFile) -> None:
    """Stop at a plain CSV whose last line has no line end.

    A download that broke off inside the last cell still has all columns, so that no reader of CSV
    sees it (case C-06). Compressed and Parquet files carry their own end mark.

    Raises:
        UserError: the last byte is not a line end.

    """
    if file.form != ".csv" or not file.path.stat().st_size:
        return
    with _reading(file), file.path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) in b"\r\n":
            return
        stream.seek(0)
        line = 1 + sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK), b""))
    raise UserError(
        f"{file.path} looks truncated: its last line, line {line}, is incomplete: it has no line"
        f" end. {_ADVICE}"
    )


def read_blocks(
    file: RawFile, advance: Callable[[int], object] = lambda count: None
) -> Iterator[bytes]:
    """Yield a file as blocks of UTF-8 CSV with a header line, about a megabyte each.

    CSV passes through unread, but for a byte order mark. In the CSV made from Parquet, a missing
    value is an empty cell and an empty text a quoted empty cell, as COPY wants it (case C-38).

    Args:
        file: the file.
        advance: told after each block how many more bytes of the file are done.

    Raises:
        UserError: a file that is truncated, damaged or unreadable.

    """
    check_last_line(file)
    done = 0
    for block, place in (_parquet_blocks if file.form == ".parquet" else _csv_blocks)(file):
        yield block
        advance(place - done)
        done = place


class RowCounter:
    """Counts the logical rows of a CSV stream: a line break inside quotes ends no row."""

    def __init__(self) -> None:
        self._lines = 0
        self._quotes = 0
        self._last = b"\n"

    def feed(self, block: bytes) -> None:
        """Count one more block; a block may end anywhere, but is not empty."""
        data = np.frombuffer(block, dtype=np.uint8)
        quotes = np.flatnonzero(data == ord('"'))
        breaks = np.flatnonzero(data == ord("\n"))
        # An even number of quotes before it: the break is outside. A doubled quote counts as two.
        before = self._quotes + np.searchsorted(quotes, breaks)
        self._lines += int(np.count_nonzero(before % 2 == 0))
        self._quotes += len(quotes)
        self._last = block[-1:]

    @property
    def rows(self) -> int:
        """Rows below the header so far; a last line without a line end is one."""
        return max(0, self._lines + (self._last != b"\n") - 1)


def count_rows(file: RawFile) -> int:
    """Return how many logical rows a file has below its header.

    Raises:
        UserError: a file that is truncated, damaged or unreadable.

    """
    if file.form == ".parquet":
        with _reading(file):
            return int(pq.read_metadata(file.path).num_rows)
    counter = RowCounter()
    for block in read_blocks(file):
        counter.feed(block)
    return counter.rows


def _csv_blocks(file: RawFile) -> Iterator[tuple[bytes, int]]:
    """Yield blocks, each with how many bytes of the file are done."""
    with _reading(file), file.path.open("rb") as raw:
        # The position of the file on disk is the progress.
        stream = gzip.GzipFile(fileobj=raw) if file.form == ".csv.gz" else raw
        block = stream.read(_BLOCK).removeprefix(_BOM)
        while block:
            yield block, raw.tell()
            block = stream.read(_BLOCK)


def _parquet_blocks(file: RawFile) -> Iterator[tuple[bytes, int]]:
    with _reading(file), pq.ParquetFile(file.path) as parquet:
        names, size = parquet.schema_arrow.names, file.path.stat().st_size
        total, done = max(1, parquet.metadata.num_rows), 0
        header = pa.RecordBatch.from_pylist([], schema=parquet.schema_arrow)
        for batch in chain([header], parquet.iter_batches(_PARQUET_ROWS)):
            columns = map(_column_as_text, repeat(file), names, batch.columns)
            table, out = pa.table([*columns], names=names), pa.BufferOutputStream()
            pa_csv.write_csv(table, out, pa_csv.WriteOptions(include_header=batch is header))
            done += batch.num_rows
            yield bytes(out.getvalue().to_pybytes()), size * done // total


def _column_as_text(file: RawFile, name: str, column: pa.Array) -> pa.Array:
    """Return a column as its CSV text; times in MIMIC's own form, seconds where seconds suffice."""
    if pa.types.is_timestamp(column.type):
        if column.type.tz is not None:
            raise UserError(
                f"{file.path}: column {name} has a time zone ({column.type.tz}); MIMIC's times "
                "have none, so write it as a timestamp without a zone."
            )
        with suppress(pa.ArrowInvalid):  # It has fractions of a second, and keeps them.
            column = column.cast(pa.timestamp("s"))
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        raise UserError(
            f"{file.path}: column {name} ({column.type}) cannot be written as text."
        ) from None


def read_cohort_file(path: Path) -> list[int]:
    """Read the ids in the order of the file; blank lines do not count.

    Args:
        path: a UTF-8 file; a byte order mark and Windows line ends are accepted.
            The view of the list (`duckdb_files`) splits and trims as this does.

    Raises:
        UserError: a file that cannot be read, no id in it, a line that is not a whole number, or
            an id that stands twice.

    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"The cohort file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"The cohort file {path} is not text in UTF-8.") from error
    first_line: dict[int, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
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


@contextmanager
def _reading(file: RawFile) -> Iterator[None]:
    """Turn what a cut, damaged or unreadable file raises into a sentence that names it.

    What the readers say is left out: some of them quote the bytes that they could not read.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, pa.ArrowException):
        raise UserError(f"{file.path} looks truncated or damaged. {_ADVICE}") from None
    except csv.Error:
        raise UserError(f"{file.path}: the header cannot be read as CSV.") from None
    except OSError as error:
        raise UserError(f"{file.path} cannot be read: {error.strerror or 'damaged'}.") from error
