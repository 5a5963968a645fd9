"""The two sides of a score: files read, and predictions put beside the truth by key.

Files are CSV, plain or gzipped, and Parquet, told apart by content. The bytes that are hashed are
those that are scored. Whatever does not fit is named, all at once.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv

from medeval.errors import UserError
from medeval.files import unpacked
from medeval.scoring.resample import Floats, Integers

if TYPE_CHECKING:
    from medeval.tasks.mimic3.task import IcuTask

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
# What counts as an empty cell: the texts that pandas reads as missing.
EMPTY_CELLS = [*pacsv.ConvertOptions().null_values, "<NA>", "None"]
SUFFIX = "_timeseries.csv"
HOURS = "period_length"
SHOWN = 10
# Takes the names of a file's columns, returns the places of those to read.
Choose = Callable[[list[str]], list[int]]


@dataclass(frozen=True)
class Rows:
    """A listfile, a prediction file, or a listfile with the predictions of its rows.

    Attributes:
        name: what to call it in messages.
        sha256: of the file.
        names: the different stays.
        stays: which of them each row belongs to.
        hours: period_length as single floats; None if the task has none.
        truth: (n, labels).
        columns: the names of the truth's columns, as the file spells them.
        prediction: in the truth's shape; of a listfile the truth again.
        warnings: what is odd, and does not change the numbers.
    """

    name: str
    sha256: str
    names: list[str]
    stays: Integers
    hours: npt.NDArray[np.float32] | None
    truth: Floats
    columns: tuple[str, ...]
    prediction: Floats
    warnings: tuple[str, ...] = ()

    def described(self) -> dict[str, str]:
        """Return the file's name and hash; a user's folders are nobody's business."""
        return {"name": Path(self.name).name, "sha256": self.sha256}


def read_file(task: type[IcuTask], path: Path, *, is_listfile: bool = False) -> Rows:
    """Read the rows of a file; see `read_rows`.

    Raises:
        UserError: also if there is no such file, or it cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"There is no file {path}.") from None
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error
    return read_rows(task, str(path), data, is_listfile=is_listfile)


def read_rows(task: type[IcuTask], name: str, data: bytes, *, is_listfile: bool = False) -> Rows:
    """Read a prediction file, all columns by name, or a listfile.

    Raises:
        UserError: the file is empty, torn, or of another format; a column is missing, a cell cannot
            be read, a key is incomplete, or the listfile of phenotyping has not exactly 27 columns.
    """
    keys = ["stay", HOURS] if task.has_period_length else ["stay"]
    wanted = [*keys, *task.truth_columns, *(() if is_listfile else task.prediction_columns)]
    half, spelled = len(task.truth_columns), list[str]()

    def places(header: list[str]) -> list[int]:
        found = list(range(len(wanted)))
        # The benchmark reads the listfile of phenotyping by position: names in any spelling.
        is_by_position = is_listfile and half > 1
        if is_by_position and len(header) != len(wanted):
            raise UserError(
                f"{name} has {len(header)} columns; a listfile of {task.name} has"
                f" {len(wanted)}: stay, period_length and {half} phenotypes."
            )
        if missing := [one for one in wanted if one not in header and not is_by_position]:
            what = "column" if len(missing) == 1 else "columns"
            raise UserError(
                f"{name} has no {what} {', '.join(missing)}. It has {len(header)}:"
                f" {', '.join(header[:60])}."
            )
        if not is_by_position:
            found = [header.index(one) for one in wanted]  # of two with one name, the first
        spelled.extend(header[place] for place in found[len(keys) :][:half])
        return found

    stays, *columns = _read_columns(name, data, places)
    empty = {}
    if stays.null_count:
        empty["stay"] = stays.is_null().to_numpy(zero_copy_only=False)
    encoded = stays.dictionary_encode()
    numbers = [_doubles(column) for column in columns]
    hours = None
    if task.has_period_length:
        # Single floats, as the benchmark reads them: 48, 48.0 and 48.000000 are one key.
        # Adding zero makes one number of 0 and -0.
        hours = numbers.pop(0).astype(np.float32) + np.float32(0)
        if task.has_sample_times:
            empty[HOURS] = np.isnan(hours)
    for column, cells in empty.items():
        if (rows := np.flatnonzero(cells)).size:
            shown = ", ".join(str(row + 1) for row in rows[:SHOWN])
            raise UserError(
                f"{name}: {column} is empty in {len(rows):,} rows; first: {shown} (not counting"
                " the header)."
            )
    truth = np.column_stack(numbers[:half])
    prediction = np.column_stack(numbers[half:] or numbers)
    if task.kind == "hours":
        # The truth of length of stay is rounded to single floats, and so it enters the errors.
        truth = truth.astype(np.float32).astype(np.float64)
    return Rows(
        name,
        hashlib.sha256(data).hexdigest(),
        encoded.dictionary.to_pylist(),
        np.from_dlpack(encoded.indices).astype(np.int64),
        hours,
        truth,
        tuple(spelled),
        prediction,
    )


def _doubles(column: Any) -> Floats:
    """Return an Arrow column of doubles as an array; an empty cell is NaN."""
    if column.null_count == 0:
        # Arrow's own `to_numpy` and `fill_null` load pandas: as long as all the reading takes.
        return np.asarray(np.from_dlpack(column), dtype=np.float64)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _read_columns(name: str, data: bytes, choose: Choose) -> list[Any]:
    """Return columns as Arrow arrays, the first as strings, the others as doubles.

    Raises:
        UserError: the file or a cell cannot be read; file, row and column are named.
    """
    if data.startswith(PARQUET):
        return _read_parquet(name, data, choose)
    return _read_csv(name, unpacked(data, name) if data.startswith(GZIP) else data, choose)


def _read_parquet(name: str, data: bytes, choose: Choose) -> list[Any]:
    """Read a Parquet file; numbers of any type, texts also as a dictionary."""
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        header = list(file.schema_arrow.names)
        chosen = [header[place] for place in choose(header)]
        table = file.read(columns=chosen)
    except (pa.ArrowException, OSError) as error:
        first = str(error).splitlines()[0]
        raise UserError(f"{name} is a damaged Parquet file: {first}") from error
    if table.num_rows == 0:
        raise UserError(f"{name} has no rows.")
    found: list[Any] = []
    for column in chosen:
        cells = table.column(column)
        try:
            found.append(cells.cast(pa.float64() if found else pa.string()).combine_chunks())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UserError(f"{name}, column {column}: {str(error).splitlines()[0]}") from error
    return found


def _read_csv(name: str, data: bytes, choose: Choose) -> list[Any]:
    """Read a file in UTF-8, with or without byte order mark, any line ends.

    The whole file is checked, also the columns that are not wanted.
    """
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline=""))
    try:
        header = next((row for row in reader if row), None)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{name} is not UTF-8 text or no CSV file: {getattr(error, 'reason', error)}."
        ) from error
    if header is None:
        raise UserError(f"{name} is empty.")
    chosen = [str(place) for place in choose(header)]
    try:
        table = pacsv.read_csv(
            pa.BufferReader(data),
            read_options=pacsv.ReadOptions(
                column_names=[str(place) for place in range(len(header))],
                skip_rows=reader.line_num,
                use_threads=False,  # else an error does not know its row
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={**dict.fromkeys(chosen, pa.float64()), chosen[0]: pa.string()},
                include_columns=chosen,
                null_values=EMPTY_CELLS,
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        raise UserError(f"{name}{_explained(str(error), header)}.") from error
    if not table.num_rows:
        raise UserError(f"{name} has a header and no rows.")
    return [table.column(one).combine_chunks() for one in chosen]


def _explained(message: str, header: Sequence[str]) -> str:
    """Return what Arrow says of a CSV file, with row and column as a user counts them."""
    row = f", row {number[1]}" if (number := re.search(r"Row #(\d+):", message)) else ""
    if cell := re.search(r"column #(\d+):.*invalid (?:value '(.*)'|UTF8 data)", message):
        column, value = cell.groups()
        what = "is not UTF-8 text" if value is None else f"{value!r} is no number"
        return f"{row}, column {header[int(column)]}: {what}"
    if fields := re.search(r"Expected (\d+) columns, got (\d+)", message):
        return f"{row}: {fields[2]} cells where the header has {fields[1]}"
    if "skip initial" in message or "Empty CSV" in message:
        return " has a header and no rows"
    return f" cannot be read: {message.splitlines()[0]}"


def join(
    task: type[IcuTask], truth: Rows, predictions: Rows, *, allow_duplicates: bool = False
) -> Rows:
    """Find each listed row's prediction by its key; the rows are in the listfile's order.

    With duplicates allowed a row counts once for each prediction that has its key, in the order
    of the prediction file: so does a left join.

    Returns:
        Truth and predictions of a single label have shape (n,).

    Raises:
        UserError: rows without prediction, keys that are there twice, a truth that differs,
            predictions that are no finite numbers: each kind with its count and first ten keys.
    """
    names = list(dict.fromkeys([*truth.names, *predictions.names]))
    numbers = {name: number for number, name in enumerate(names)}
    own = np.array([numbers[name] for name in predictions.names])
    # Rows of the listfile come before the others.
    stays: Integers = np.concatenate([truth.stays, own[predictions.stays]])
    size, keys, hours = len(truth.stays), stays, None
    if task.has_sample_times and truth.hours is not None and predictions.hours is not None:
        # The hour's bits stand beside the number of the stay.
        hours = np.concatenate([truth.hours, predictions.hours])
        keys = (keys << 32) | hours.view(np.uint32).astype(np.int64)
    listed, given = keys[:size], keys[size:]
    order = np.argsort(given, kind="stable")
    ordered = given[order]
    first = np.searchsorted(ordered, listed, side="left")
    counts = np.searchsorted(ordered, listed, side="right") - first
    listed_rows = np.repeat(np.arange(size), counts)
    within = np.arange(len(listed_rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    predicted_rows = order[np.repeat(first, counts) + within]
    findings = list[str]()

    def find(rows: Integers, what: str, notes: Sequence[str] = (), end: str = "") -> None:
        """Keep what is wrong with rows, if there are any, with the first ten keys."""
        shown = [
            names[stays[row]] + ("" if hours is None else f" hour {hours[row]:g}") + note
            for row, note in zip(rows[:SHOWN], [*notes, *[""] * SHOWN], strict=False)
        ]
        more = f"; and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
        if shown:
            findings.append(f"{what}: {'; '.join(shown)}{more}.{end}")

    for name, one, offset in ((truth.name, listed, 0), (predictions.name, given, size)):
        _, starts, times = np.unique(one, return_index=True, return_counts=True)
        twice = np.sort(starts[times > 1]) + offset
        are = "1 key is" if len(twice) == 1 else f"{len(twice):,} keys are"
        what = f"{are} more than once in {name} ({counted(len(one) - len(times), 'row')} too many)"
        if not allow_duplicates:
            find(twice, what, end=" --allow-duplicates counts each of them.")
    missing = np.flatnonzero(counts == 0)
    what = f"{len(missing):,} of the {size:,} rows of {truth.name} have no prediction in"
    hint = _lacks_its_end({names[number] for number in np.unique(stays[missing])}, predictions)
    find(missing, f"{what} {predictions.name}", end=hint)
    values, prediction = truth.truth[listed_rows], predictions.prediction[predicted_rows]
    _find_bad_cells(find, "truth", truth.columns, truth, truth.truth, np.arange(size), task)
    columns = task.prediction_columns
    _find_bad_cells(find, "prediction", columns, predictions, prediction, listed_rows, task)
    _find_differences(find, task, truth, predictions, listed_rows, predicted_rows)
    if findings:
        raise UserError("\n".join(findings))
    warnings = []
    if surplus := len(given) - len(np.unique(predicted_rows)):
        warnings.append(
            f"{counted(surplus, 'row')} of {predictions.name} left out: not in {truth.name}."
        )
    is_class = task.kind != "hours"
    if not is_class and (negative := int((values < 0).sum())):
        warnings.append(
            f"{counted(negative, 'row')} with a true length of stay below 0 hours: MAPE"
            " divides by the truth plus 0.1 hours, so it can be huge."
        )
    if is_class and (outside := int(((prediction < 0) | (prediction > 1)).sum())):
        verb = "is" if outside == 1 else "are"
        warnings.append(
            f"{counted(outside, 'prediction')} {verb} outside [0, 1]; only ranks count in these"
            " metrics."
        )
    if len(truth.columns) == 1:
        values, prediction = values[:, 0], prediction[:, 0]
    return Rows(
        predictions.name, predictions.sha256, names, stays[listed_rows], None, values,
        truth.columns, prediction, tuple(warnings),
    )  # fmt: skip


def _lacks_its_end(wanted: set[str], predictions: Rows) -> str:
    """Say of stays without a prediction whether their names only lack their end in one file."""
    given = set(predictions.names)
    shorter = len(wanted & {name + SUFFIX for name in given})
    longer = len({name + SUFFIX for name in wanted} & given)
    where = "the prediction file" if shorter else "the listfile"
    told = f" {shorter or longer:,} of these stays are in {where} without `{SUFFIX}`."
    return told if shorter or longer else ""


def _find_bad_cells(
    find: Callable[..., None],
    what: str,
    columns: Sequence[str],
    file: Rows,
    values: Floats,
    row_of: Integers,
    task: type[IcuTask],
) -> None:
    """Find rows with cells that cannot be scored; name the columns if there are many.

    Args:
        find: takes rows and what is wrong with them.
        what: the cells are, `truth` or `prediction`.
        columns: their names.
        file: where they are from.
        values: the cells, shape (n, columns).
        row_of: the listed row of each of the n.
        task: what is scored.
    """
    empty, infinite = np.isnan(values), np.isinf(values)
    kinds = {f"an empty or NaN {what}": empty, f"an infinite {what}": infinite}
    if what == "truth" and task.kind != "hours":
        kinds["a truth that is neither 0 nor 1"] = ~(empty | infinite | np.isin(values, (0, 1)))
    for kind, bad in kinds.items():
        rows = np.flatnonzero(bad.any(axis=1))
        where = f" in {', '.join(np.array(columns)[bad.any(axis=0)])}" if len(columns) > 1 else ""
        find(row_of[rows], f"{counted(len(rows), 'row')} of {file.name} with {kind}{where}")


def _find_differences(
    find: Callable[..., None],
    task: type[IcuTask],
    truth: Rows,
    given: Rows,
    listed_rows: Integers,
    predicted_rows: Integers,
) -> None:
    """Compare what both files say of the truth, by value: 1 and 1.0 are the same."""
    columns: dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}
    if not task.has_sample_times and truth.hours is not None and given.hours is not None:
        columns[HOURS] = truth.hours[listed_rows], given.hours[predicted_rows]
    pairs = zip(truth.truth[listed_rows].T, given.truth[predicted_rows].T, strict=True)
    for column, own, pair in zip(truth.columns, task.truth_columns, pairs, strict=True):
        columns[own if column == own else f"{own} ({column})"] = pair
    # An empty truth in the listfile is a finding of its own; hours may be empty in both.
    bad = {
        name: (left != right) & ~(np.isnan(left) & (name != HOURS or np.isnan(right)))
        for name, (left, right) in columns.items()
    }
    name, *others = [name for name, rows in bad.items() if rows.any()] or [next(iter(bad))]
    rows = np.flatnonzero(bad[name])
    notes = []
    for row in rows[:SHOWN]:
        left, right = (
            "empty" if np.isnan(one[row]) else f"{one[row]:.9g}" for one in columns[name]
        )
        notes.append(f" ({left} in the listfile, {right} in the predictions)")
    total = int(np.logical_or.reduce(list(bad.values())).sum())
    what = f"The truth differs between {truth.name} and {given.name} in {counted(total, 'row')}"
    also = f" It also differs in {', '.join(others)}." if others else ""
    find(listed_rows[rows], f"{what}; in column {name}", notes, also)


def counted(count: int, what: str) -> str:
    """Return a number with what it counts."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
