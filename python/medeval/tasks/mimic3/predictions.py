"""The two sides of a score: files read, and predictions put beside the truth by key.

Files are CSV, plain or gzipped, and Parquet, told apart by content. The bytes that are hashed are
those that are scored. Whatever does not fit is named, all at once.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv

from medeval.errors import UserError, os_error_as
from medeval.files import unpacked
from medeval.scoring.resample import Floats, Integers
from medeval.tasks.mimic3.task import LAYOUT, IcuTask
from medeval.text import sha256_of

SAID = LAYOUT["rows"]
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
# What counts as an empty cell: the texts that pandas reads as missing.
EMPTY_CELLS = [*pacsv.ConvertOptions().null_values, "<NA>", "None"]
SUFFIX = "_timeseries.csv"
HOURS = "period_length"
SHOWN = 10
# The names of a file's columns, and what reads some of them by their places, as Arrow arrays: the
# first as strings, the others as doubles.
Opened = tuple[list[str], Callable[[Sequence[int]], list[Any]]]


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
        data_class: of the warehouse's rows; None for those of a file.
        clusters: what is drawn as one unit with each row; None if every row stands for itself.
        groups: of each grouping the group of every stay, in the order of `names`.
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
    data_class: str | None = None
    clusters: Integers | None = None
    groups: Mapping[str, list[str]] = field(default_factory=dict)

    def part(self, rows: Integers) -> Rows:
        """Return some of the rows of a listfile with predictions."""
        clusters = None if self.clusters is None else self.clusters[rows]
        stays, truth, prediction = self.stays[rows], self.truth[rows], self.prediction[rows]
        return replace(self, stays=stays, truth=truth, prediction=prediction, clusters=clusters)

    def described(self) -> dict[str, str]:
        """Return the file's name and hash; a user's folders are nobody's business."""
        return {"name": Path(self.name).name, "sha256": self.sha256}


def read_file(task: type[IcuTask], path: Path, *, is_listfile: bool = False) -> Rows:
    """Read the rows of a file; see `read_rows`.

    Raises:
        UserError: also if it cannot be read.
    """
    with os_error_as(f"Cannot read {path}: {{why}}."):
        data = path.read_bytes()
    return read_rows(task, str(path), data, is_listfile=is_listfile)


def read_rows(task: type[IcuTask], name: str, data: bytes, *, is_listfile: bool = False) -> Rows:
    """Read a prediction file, all columns by name, or a listfile.

    Raises:
        UserError: the file is empty, torn, or of another format; a column is missing, a cell cannot
            be read, a key is incomplete, or the listfile of phenotyping has not exactly 27 columns.
    """
    keys = ["stay", HOURS] if task.has_period_length else ["stay"]
    wanted = [*keys, *task.truth_columns, *(() if is_listfile else task.prediction_columns)]
    half, content = len(task.truth_columns), data
    if data.startswith(GZIP):
        content = unpacked(data, name)
    open_file = _open_parquet if data.startswith(PARQUET) else _open_csv
    header, read = open_file(name, content)
    places = list(range(len(wanted)))
    if is_listfile and half > 1:
        # The benchmark reads the listfile of phenotyping by position: names in any spelling.
        if len(header) != len(wanted):
            told = {"columns": len(header), "wanted": len(wanted), "labels": half}
            raise UserError(SAID["header"].format(name=name, **told))
    elif missing := [one for one in wanted if one not in header]:
        what = "column" if len(missing) == 1 else "columns"
        there = f"{len(header)}: {', '.join(header[:60])}"
        raise UserError(f"{name} has no {what} {', '.join(missing)}. It has {there}.")
    else:
        places = [header.index(one) for one in wanted]  # of two with one name, the first
    stays, *columns = read(places)
    if not len(stays):
        raise UserError(f"{name} has a header and no rows.")
    numbers = [_doubles(column) for column in columns]
    empty = {}
    if stays.null_count:
        empty["stay"] = stays.is_null().to_numpy(zero_copy_only=False)
    hours = None
    if task.has_period_length:
        # Single floats, as the benchmark reads them: 48, 48.0 and 48.000000 are one key.
        # Adding zero makes one number of 0 and -0.
        hours = numbers.pop(0).astype(np.float32) + np.float32(0)
        if task.has_sample_times:
            empty[HOURS] = np.isnan(hours)
    for column, cells in empty.items():
        if (rows := np.flatnonzero(cells)).size:
            first = ", ".join(str(row + 1) for row in rows[:SHOWN])
            place = {"name": name, "column": column, "first": first}
            raise UserError(SAID["empty"].format(count=len(rows), **place))
    truth = np.column_stack(numbers[:half])
    prediction = np.column_stack(numbers[half:] or numbers)
    if task.kind == "hours":
        # The truth of length of stay is rounded to single floats, and so it enters the errors.
        truth = truth.astype(np.float32).astype(np.float64)
    spelled = tuple(header[place] for place in places[len(keys) :][:half])
    encoded = stays.dictionary_encode()
    numbered = np.from_dlpack(encoded.indices).astype(np.int64)
    digest, stay_names = sha256_of(data), encoded.dictionary.to_pylist()
    return Rows(name, digest, stay_names, numbered, hours, truth, spelled, prediction)


def _doubles(column: Any) -> Floats:
    """Return an Arrow column of doubles as an array; an empty cell is NaN."""
    if column.null_count == 0:
        # Arrow's own `to_numpy` and `fill_null` load pandas: as long as all the reading takes.
        return np.asarray(np.from_dlpack(column), dtype=np.float64)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _open_parquet(name: str, data: bytes) -> Opened:
    """Open a Parquet file; numbers of any type, texts also as a dictionary."""
    import pyarrow.parquet as pq

    def read(places: Sequence[int]) -> list[Any]:
        found: list[Any] = []
        for place in places:
            try:
                cells = file.read(columns=[header[place]]).column(0)
                found.append(cells.cast(pa.float64() if found else pa.string()).combine_chunks())
            except (pa.ArrowException, OSError) as error:
                first = str(error).splitlines()[0]
                raise UserError(f"{name}, column {header[place]}: {first}") from error
        return found

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        first = str(error).splitlines()[0]
        raise UserError(f"{name} is a damaged Parquet file: {first}") from error
    header = list(file.schema_arrow.names)
    return header, read


def _open_csv(name: str, data: bytes) -> Opened:
    """Open a file in UTF-8, with or without byte order mark, any line ends.

    The whole file is checked, also the columns that are not wanted.
    """
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline=""))
    try:
        header = next((row for row in reader if row), None)
    except (UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "reason", error)
        raise UserError(f"{name} is not UTF-8 text or no CSV file: {reason}.") from error
    if header is None:
        raise UserError(f"{name} is empty.")

    def read(places: Sequence[int]) -> list[Any]:
        chosen = [str(place) for place in places]
        types = {**dict.fromkeys(chosen, pa.float64()), chosen[0]: pa.string()}
        # Without threads an error knows its row.
        names = [str(place) for place in range(len(header))]
        skipped = pacsv.ReadOptions(
            column_names=names, skip_rows=reader.line_num, use_threads=False
        )
        cells = pacsv.ConvertOptions(
            column_types=types, include_columns=chosen, null_values=EMPTY_CELLS,
            strings_can_be_null=True,
        )  # fmt: skip
        try:
            table = pacsv.read_csv(pa.BufferReader(data), skipped, convert_options=cells)
        except pa.ArrowInvalid as error:
            raise UserError(f"{name}{_explained(str(error), header)}.") from error
        return [table.column(one).combine_chunks() for one in chosen]

    return header, read


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
    told = {"listfile": truth.name, "predictions": predictions.name}
    hint = _lacks_its_end({names[number] for number in np.unique(stays[missing])}, predictions)
    find(missing, SAID["missing"].format(missing=len(missing), rows=size, **told), end=hint)
    values, prediction = truth.truth[listed_rows], predictions.prediction[predicted_rows]
    is_class = task.kind != "hours"
    for rows, what in _bad_cells("truth", truth.columns, truth, truth.truth, is_class=is_class):
        find(rows, what)
    columns = task.prediction_columns
    for rows, what in _bad_cells("prediction", columns, predictions, prediction):
        find(listed_rows[rows], what)
    find(*_differences(task, truth, predictions, listed_rows, predicted_rows))
    if findings:
        raise UserError("\n".join(findings))
    odd = []
    if surplus := len(given) - len(np.unique(predicted_rows)):
        odd.append(
            f"{counted(surplus, 'row')} of {predictions.name} left out: not in {truth.name}."
        )
    if not is_class and (negative := int((values < 0).sum())):
        odd.append(SAID["negative"].format(counted(negative, "row")))
    if is_class and (outside := int(((prediction < 0) | (prediction > 1)).sum())):
        verb = "is" if outside == 1 else "are"
        odd.append(SAID["outside"].format(counted(outside, "prediction"), verb))
    if len(truth.columns) == 1:
        values, prediction = values[:, 0], prediction[:, 0]
    return replace(
        predictions, names=names, stays=stays[listed_rows], hours=None, truth=values,
        columns=truth.columns, prediction=prediction, warnings=tuple(odd),
    )  # fmt: skip


def _lacks_its_end(wanted: set[str], predictions: Rows) -> str:
    """Say of stays without a prediction whether their names only lack their end in one file."""
    given = set(predictions.names)
    shorter = len(wanted & {name + SUFFIX for name in given})
    longer = len({name + SUFFIX for name in wanted} & given)
    where = "the prediction file" if shorter else "the listfile"
    told = f" {shorter or longer:,} of these stays are in {where} without `{SUFFIX}`."
    return told if shorter or longer else ""


def _bad_cells(
    what: str, columns: Sequence[str], file: Rows, values: Floats, *, is_class: bool = False
) -> Iterator[tuple[Integers, str]]:
    """Yield rows with cells that cannot be scored, and what is wrong; of many columns, which.

    Args:
        what: the cells are, `truth` or `prediction`.
        columns: their names.
        file: where they are from.
        values: the cells, shape (n, columns).
        is_class: they can only be 0 and 1.
    """
    empty, infinite = np.isnan(values), np.isinf(values)
    kinds = {f"an empty or NaN {what}": empty, f"an infinite {what}": infinite}
    if is_class:
        kinds["a truth that is neither 0 nor 1"] = ~(empty | infinite | np.isin(values, (0, 1)))
    for kind, bad in kinds.items():
        rows = np.flatnonzero(bad.any(axis=1))
        where = f" in {', '.join(np.array(columns)[bad.any(axis=0)])}" if len(columns) > 1 else ""
        yield rows, f"{counted(len(rows), 'row')} of {file.name} with {kind}{where}"


def _differences(
    task: type[IcuTask], truth: Rows, given: Rows, listed: Integers, predicted: Integers
) -> tuple[Integers, str, list[str], str]:
    """Compare what both files say of the truth, by value: 1 and 1.0 are the same.

    Returns:
        The rows that differ in the first such column, what to say of them, of each its values, and
        which other columns differ.
    """
    columns: dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}
    if not task.has_sample_times and truth.hours is not None and given.hours is not None:
        columns[HOURS] = truth.hours[listed], given.hours[predicted]
    pairs = zip(truth.truth[listed].T, given.truth[predicted].T, strict=True)
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
    total = counted(int(np.logical_or.reduce(list(bad.values())).sum()), "row")
    what = f"The truth differs between {truth.name} and {given.name} in {total}; in column {name}"
    return listed[rows], what, notes, f" It also differs in {', '.join(others)}." if others else ""


def counted(count: int, what: str) -> str:
    """Return a number with what it counts."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
