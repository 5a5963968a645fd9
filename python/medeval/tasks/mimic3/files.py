"""The two sides of a score as files: CSV, plain or gzipped, and Parquet, told apart by content.

A file is read once, as a whole: the bytes that are hashed are those that are scored.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv

from medeval.errors import UserError
from medeval.files import unpacked
from medeval.tasks.mimic3.tasks import LABELS, Kind, Task

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"

# What counts as an empty cell: the texts that pandas reads as missing.
EMPTY_CELLS = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
]  # fmt: skip

Doubles = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Source:
    """The bytes of an input, what to call it in messages, and their SHA-256."""

    name: str
    data: bytes
    sha256: str

    def described(self) -> dict[str, str]:
        """Return the file's name and hash; a user's folders are nobody's business."""
        return {"name": Path(self.name).name, "sha256": self.sha256}


def source_of(name: str, data: bytes) -> Source:
    """Return bytes with their hash."""
    return Source(name, data, hashlib.sha256(data).hexdigest())


def read_source(path: Path) -> Source:
    """Read a file.

    Raises:
        UserError: there is no such file, or it cannot be read.
    """
    try:
        return source_of(str(path), path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"There is no file {path}.") from None
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error


class CsvColumns:
    """A comma-separated file in UTF-8, with or without byte order mark, any line ends.

    Attributes:
        name: what to call the file in messages.
        header: the names of its columns, in order.
    """

    def __init__(self, name: str, data: bytes) -> None:
        reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline=""))
        try:
            header = next((row for row in reader if row), None)
        except UnicodeDecodeError as error:
            raise UserError(f"{name} is not UTF-8 text: {error.reason}.") from error
        except csv.Error as error:
            raise UserError(f"{name} is not a CSV file: {error}.") from error
        if header is None:
            raise UserError(f"{name} is empty.")
        self.name, self.header = name, header
        self._data = data
        self._header_lines = reader.line_num

    def read(self, texts: Sequence[int], numbers: Sequence[int]) -> dict[int, Any]:
        """Return columns by position, as Arrow arrays of strings and of doubles.

        The whole file is checked, also the columns that are not wanted.

        Raises:
            UserError: a cell cannot be read; file, row and column are named.
        """
        types = {str(position): pa.string() for position in texts}
        types |= {str(position): pa.float64() for position in numbers}
        problem = ""
        # Once more on one thread where that fails: only then does the error know its row.
        for use_threads in (True, False):
            try:
                table = pacsv.read_csv(
                    pa.BufferReader(self._data),
                    read_options=pacsv.ReadOptions(
                        column_names=[str(position) for position in range(len(self.header))],
                        skip_rows=self._header_lines,
                        use_threads=use_threads,
                    ),
                    convert_options=pacsv.ConvertOptions(
                        column_types=types,
                        include_columns=list(types),
                        null_values=EMPTY_CELLS,
                        strings_can_be_null=True,
                    ),
                )
            except pa.ArrowInvalid as error:
                problem = str(error)
            else:
                if table.num_rows == 0:
                    raise UserError(f"{self.name} has a header and no rows.")
                return {int(name): table.column(name).combine_chunks() for name in types}
        raise UserError(self._explained(problem))

    def _explained(self, message: str) -> str:
        cell = re.search(
            r"column #(\d+):(?: Row #(\d+):)? .*invalid (?:value '(.*)'|UTF8 data)", message
        )
        if cell:
            column, row, value = cell.groups()
            what = "is not UTF-8 text" if value is None else f"{value!r} is no number"
            place = f"row {row}, " if row else ""
            return f"{self.name}, {place}column {self.header[int(column)]}: {what}."
        if "skip initial" in message or "Empty CSV" in message:
            return f"{self.name} has a header and no rows."
        fields = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message)
        if fields:
            row, expected, found = fields.groups()
            place = f", row {row}" if row else ""
            return f"{self.name}{place}: {found} cells where the header has {expected}."
        return f"{self.name} cannot be read: {message.splitlines()[0]}"


class ParquetColumns:
    """A Parquet file, as `CsvColumns`; numbers of any type, texts also as dictionaries."""

    def __init__(self, name: str, data: bytes) -> None:
        import pyarrow.parquet as pq

        self.name = name
        try:
            self._file = pq.ParquetFile(pa.BufferReader(data))
        except (pa.ArrowInvalid, OSError) as error:
            raise self._damaged(error) from error
        self.header = list(self._file.schema_arrow.names)

    def _damaged(self, error: Exception) -> UserError:
        return UserError(f"{self.name} is a damaged Parquet file: {str(error).splitlines()[0]}")

    def read(self, texts: Sequence[int], numbers: Sequence[int]) -> dict[int, Any]:
        """Read columns and cast them; see `CsvColumns.read`."""
        wanted = [*texts, *numbers]
        try:
            table = self._file.read(columns=[self.header[position] for position in wanted])
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error
        if table.num_rows == 0:
            raise UserError(f"{self.name} has no rows.")
        found = {}
        for position in wanted:
            name = self.header[position]
            column = table.column(name)
            try:
                if pa.types.is_dictionary(column.type):
                    column = column.cast(column.type.value_type)
                cast = column.cast(pa.string() if position in texts else pa.float64())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                first = str(error).splitlines()[0]
                raise UserError(f"{self.name}, column {name}: {first}") from error
            found[position] = cast.combine_chunks()
        return found


def open_columns(source: Source) -> CsvColumns | ParquetColumns:
    """Read a file's header.

    Raises:
        UserError: the file is empty, torn, or not one of the formats.
    """
    data = source.data
    if data.startswith(PARQUET):
        return ParquetColumns(source.name, data)
    if data.startswith(GZIP):
        data = unpacked(data, source.name)
    return CsvColumns(source.name, data)


@dataclass(frozen=True)
class Rows:
    """A listfile or a prediction file.

    Attributes:
        name: what to call it in messages.
        stays: Arrow array of the stays' names.
        hours: period_length as single floats; None if the task has none.
        truth: (n, 1) or, for phenotyping, (n, 25).
        columns: the names of the truth's columns, as the file spells them.
        prediction: in the truth's shape; of a listfile the truth again.
    """

    name: str
    stays: Any
    hours: Singles | None
    truth: Doubles
    columns: tuple[str, ...]
    prediction: Doubles


def read_rows(task: Task, source: Source, *, is_listfile: bool = False) -> Rows:
    """Read a prediction file, all columns by name, or a listfile.

    Raises:
        UserError: a column is missing, a cell cannot be read, a key is incomplete, or the listfile
            of phenotyping has not exactly 27 columns.
    """
    file = open_columns(source)
    keys = ["stay", "period_length"] if task.has_period_length else ["stay"]
    names = [*keys, *task.truth_columns, *(() if is_listfile else task.prediction_columns)]
    if is_listfile and task.kind is Kind.LABELS:
        # The benchmark reads this file by position: names of phenotypes, in any spelling.
        if len(file.header) != len(names):
            raise UserError(
                f"{file.name} has {len(file.header)} columns; a listfile of {task.name} has"
                f" {len(names)}: stay, period_length and {LABELS} phenotypes."
            )
        places = list(range(len(names)))
    else:
        missing = [name for name in names if name not in file.header]
        if missing:
            what = "column" if len(missing) == 1 else "columns"
            raise UserError(
                f"{file.name} has no {what} {', '.join(missing)}. It has {len(file.header)}:"
                f" {', '.join(file.header[:60])}."
            )
        places = [file.header.index(name) for name in names]  # of two with one name, the first
    found = file.read(places[:1], places[1:])
    stays = found[places[0]]
    if stays.null_count:
        _require_complete(file.name, "stay", stays.is_null().to_numpy(zero_copy_only=False))
    hours = None
    if task.has_period_length:
        # Single floats, as the benchmark reads them: 48, 48.0 and 48.000000 are one key.
        # Adding zero makes one number of 0 and -0.
        hours = doubles(found[places[1]]).astype(np.float32) + np.float32(0)
        if task.has_sample_times:
            _require_complete(file.name, "period_length", np.isnan(hours))
    values = places[len(keys) :]
    half = len(task.truth_columns)
    truth, prediction = (
        np.column_stack([doubles(found[place]) for place in block])
        for block in (values[:half], values[half:] or values[:half])
    )
    if task.kind is Kind.HOURS:
        # The truth of length of stay is rounded to single floats, and so it enters the errors.
        truth = truth.astype(np.float32).astype(np.float64)
    spelled = tuple(file.header[place] for place in values[:half])
    return Rows(file.name, stays, hours, truth, spelled, prediction)


def doubles(column: Any) -> Doubles:
    """Return an Arrow column of doubles as an array; an empty cell is NaN."""
    if column.null_count == 0:
        # Arrow's own `to_numpy` and `fill_null` load pandas: as long as all the reading takes.
        return np.asarray(np.from_dlpack(column), dtype=np.float64)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _require_complete(name: str, column: str, empty: npt.NDArray[np.bool_]) -> None:
    if empty.any():
        rows = np.flatnonzero(empty)
        shown = ", ".join(str(row + 1) for row in rows[:10])
        raise UserError(
            f"{name}: {column} is empty in {len(rows):,} rows; first: {shown} (not counting the"
            " header)."
        )
