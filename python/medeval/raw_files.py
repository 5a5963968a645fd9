"""The raw tables of a source as files: found in a folder, and read by DuckDB, whatever the target.

Nothing here knows a benchmark. A file is never repaired: what is cut, damaged or ambiguous stops
with the file's name. DuckDB reads a plain CSV file that is cut inside its last cell without a word,
guesses types and quotes from the first rows, and has no function for a file's header as it is
written. So the files are looked at here, and each is read by an expression that leaves nothing to
guess. The user's list of admissions is read here too.
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
from typing import NamedTuple

import duckdb

from medeval.errors import UserError, os_error_as
from medeval.files import read_text
from medeval.warehouse import shown

# In the order of preference where a folder holds several forms of one table.
FORMS = (".csv.gz", ".csv", ".parquet")

_BLOCK = 1 << 20
_BATCH_ROWS = 1 << 16
# PostgreSQL cuts longer names.
_NAME = re.compile(r"[\w .:()/%#-]{1,63}")
# Of the types of Parquet.
_NO_CELL = re.compile(r"TIME ZONE|STRUCT|MAP|UNION|\[")
_BOM = b"\xef\xbb\xbf"
_NO_NAME = "has no name of its own. A table is CSV in UTF-8, with commas and with a header."
_ADVICE = "Check the file against SHA256SUMS and download it again."


class RawFile(NamedTuple):
    """One file of a table, and its columns in lower case."""

    path: Path
    columns: list[str]

    @property
    def relation(self) -> str:
        """The expression of DuckDB's SQL that reads it, all cells of CSV as text."""
        if _form(self.path) == ".parquet":
            return _parquet(self.path)
        return sql_text(
            "csv_file",
            file=one_file(self.path),
            types=", ".join(f"{literal(column)}: 'varchar'" for column in self.columns),
            compression="gzip" if _form(self.path) == ".csv.gz" else "none",
            longest=", max_line_size = 16777216" if "text" in self.columns else "",
        )


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
) -> dict[str, list[RawFile]]:
    """Return the files of tables, with all checked that can be before a long reading.

    Names are compared without regard to case (`ADMISSIONS.csv`, `Admissions.CSV.GZ`): the full
    MIMIC-III and its demo differ in it.

    Args:
        folders: where the files are; of two files of one form that of the earlier folder comes
            first.
        tables: the tables to find.
        optional: those of them that may have no file; they are left out of the answer then.

    Returns:
        Of each table its files in all forms, the one that is read first.

    Raises:
        UserError: no such folder, a table without a file, or one whose header or end is wrong.
    """
    paths: dict[str, list[Path]] = {table: [] for table in tables}
    for folder in folders:
        with os_error_as(f"The folder {folder} cannot be read: {{why}}."):
            entries = sorted(path for path in folder.iterdir() if path.is_file())
        for path in entries:
            table, _, _ = path.name.lower().partition(".")
            if _form(path) in FORMS and table in paths:
                paths[table].append(path)
    missing = [table for table, found in paths.items() if not found and table not in optional]
    if missing:
        names = "; ".join(" or ".join(f"{table}{form}" for form in FORMS) for table in missing)
        places = " and ".join(map(str, folders))
        raise UserError(f"Missing in {places}: {names} (names in upper or lower case).")
    files: dict[str, list[RawFile]] = {}
    for table, found in paths.items():
        for path in sorted(found, key=lambda path: FORMS.index(_form(path))):
            files.setdefault(table, []).append(RawFile(path, read_header(path)))
            check_last_line(path)
    return files


def check_rows(table: str, files: Sequence[RawFile], rows: int | None = None) -> int:
    """Return how many rows all files of a table have.

    Args:
        table: its name.
        files: it in all forms.
        rows: those of the first, if they are known.

    Raises:
        UserError: they differ, or a file is truncated, damaged or unreadable.
    """
    counts = [rows, *map(count_rows, files[1:])] if rows is not None else [*map(count_rows, files)]
    if len({*counts}) > 1:
        forms = [f"{file.path} ({n} rows)" for file, n in zip(files, counts, strict=True)]
        raise UserError(f"The table {table} is there in forms that differ: {', '.join(forms)}.")
    return counts[0]


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


def _form(path: Path) -> str:
    """Return what follows the name of the table."""
    return "".join(path.name.lower().partition(".")[1:])


def read_header(path: Path) -> list[str]:
    """Return the column names of a file in lower case.

    Raises:
        UserError: no header, an empty name, a name that stands twice once case is ignored, or a
            column of Parquet that is no text, number or time without a zone.
    """
    with _reading(path):
        if _form(path) == ".parquet":
            with closing(duckdb.connect()) as database:
                columns = database.execute(f"describe from {_parquet(path)}").fetchall()
                # As they are written: a query makes two names of one that stands twice.
                schema = f"select name from parquet_schema({one_file(path)}) offset 1"
                cells = [name for (name,) in database.execute(schema).fetchall()]
            for name, kind, *_ in columns:
                if _NO_CELL.search(kind):
                    what = "no text, number or time without a zone"
                    raise UserError(f"{path}: column {name} ({kind}) has {what}.")
        else:
            with gzip.open(path) if _form(path) == ".csv.gz" else path.open("rb") as file:
                head = file.read(_BLOCK).removeprefix(_BOM)
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
            raise UserError(f"{path}: column {place + 1} of the header {_NO_NAME}")
    return names


def check_last_line(path: Path) -> None:
    """Stop at a plain CSV whose last line has no line end.

    A download that broke off inside the last cell still has all columns, so that no reader of CSV
    sees it (case C-06). Compressed and Parquet files carry their own end mark.

    Raises:
        UserError: the last byte is not a line end.
    """
    if _form(path) != ".csv" or not path.stat().st_size:
        return
    with _reading(path), path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) in b"\r\n":
            return
        stream.seek(0)
        line = 1 + sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK), b""))
    raise UserError(f"{path} looks truncated: line {line}, the last, has no line end. {_ADVICE}")


def count_rows(file: RawFile) -> int:
    """Return how many rows a file has.

    Raises:
        UserError: a file that is truncated, damaged or unreadable.
    """
    with _database(file.path) as database:
        return int(database.execute(f"select count(*) from {file.relation}").fetchall()[0][0])


def read_rows(
    file: RawFile, advance: Callable[[int], object] = lambda count: None
) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of a file as CSV without a header, some thousands at a time, and their number.

    A missing value is an empty cell and an empty text a quoted one, as COPY wants it (case C-38).

    Args:
        file: the file.
        advance: told after each of them about how many more bytes of the file are done.

    Raises:
        UserError: a file that is truncated, damaged or unreadable.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    size, done = file.path.stat().st_size, 0
    check_whole(file.path)
    with _database(file.path) as database:
        database.execute("set enable_progress_bar = true; set enable_progress_bar_print = false")
        query = f"select cast(columns(*) as varchar) from {file.relation}"
        for batch in database.sql(query).to_arrow_reader(_BATCH_ROWS):
            text = pa.BufferOutputStream()
            pa_csv.write_csv(batch, text, pa_csv.WriteOptions(include_header=False))
            yield batch.num_rows, text.getvalue().to_pybytes()
            share = min(max(int(size * database.query_progress() / 100), done), size)
            advance(share - done)
            done = share
    advance(size - done)


def check_whole(path: Path) -> None:
    """Read a compressed file to its end; other forms are passed over.

    DuckDB sees a stream that is cut off, and does not compare the checksum behind it.

    Raises:
        UserError: it is truncated or damaged.
    """
    if _form(path) == ".csv.gz":
        with _reading(path), gzip.open(path) as stream:
            while stream.read(_BLOCK):
                pass


@contextmanager
def _database(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an empty database, and turn what it says of a file into what may be said of it."""
    with _reading(path), closing(duckdb.connect()) as database:
        try:
            yield database
        except (duckdb.Error, OSError, ValueError) as error:
            # Behind the first batches it comes as an error of Arrow, with the same words.
            raise UserError(shown(error)) from None


def _parquet(path: Path) -> str:
    return f"read_parquet({one_file(path)}, hive_partitioning = false, binary_as_string = true)"


def one_file(path: Path) -> str:
    """Return the literal of a pattern of DuckDB that matches this one path, whatever its name."""
    return literal(re.sub(r"[*?[]", r"[\g<0>]", str(path)))


def literal(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def sql_text(name: str, **parts: str) -> str:
    """Return a text of the folder `sql` without its remarks, and with its parts."""
    text = (Path(__file__).with_name("sql") / f"{name}.sql").read_text(encoding="utf-8")
    return re.sub("^ *--.*\n", "", text, flags=re.MULTILINE).strip().format(**parts)


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
            raise UserError(f"{path}, line {number} is not a hadm_id.")
        if (first := first_line.get(int(cell))) is not None:
            raise UserError(f"{path}, line {number}: its hadm_id stands in line {first} too.")
        first_line[int(cell)] = number
    if not first_line:
        raise UserError(f"The cohort file {path} names no admission.")
    return list(first_line)
