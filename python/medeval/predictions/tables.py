"""The two sides of a score: the truth of a listfile, and predictions that repeat it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from medeval.errors import UserError
from medeval.predictions.files import Columns, Source, doubles, open_columns
from medeval.predictions.tasks import LABELS, Kind, Task

FIRST_LABEL = 2

Doubles = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Truth:
    """A listfile.

    Attributes:
        name: what to call it in messages.
        stays: Arrow array of the stays' names.
        hours: period_length as single floats; None if the task has none.
        truth: (n,) or, for phenotyping, (n, 25).
        columns: the names of the truth's columns, as the file spells them.
    """

    name: str
    stays: Any
    hours: Singles | None
    truth: Doubles
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Predictions:
    """A prediction file; its columns as in `Truth`, and the predictions in the truth's shape."""

    name: str
    stays: Any
    hours: Singles | None
    truth: Doubles
    prediction: Doubles


def read_truth(task: Task, source: Source) -> Truth:
    """Read a listfile.

    Raises:
        UserError: a column is missing, a cell cannot be read, a key is incomplete, or the file of
            phenotyping has not exactly 27 columns.
    """
    columns = open_columns(source)
    if task.kind is Kind.LABELS:
        # The benchmark reads this file by position: names of phenotypes, in any spelling.
        expected = FIRST_LABEL + LABELS
        if len(columns.header) != expected:
            raise UserError(
                f"{columns.name} has {len(columns.header)} columns; a listfile of {task.name} has"
                f" {expected}: stay, period_length and {LABELS} phenotypes."
            )
        stay, hours, *truth = range(expected)
    else:
        stay, *rest = columns.positions(_keys(task) + task.truth_columns)
        hours, truth = (rest[0], rest[1:]) if task.has_period_length else (-1, rest)
    stays, found_hours, (values,) = _read(task, columns, stay, hours, [truth])
    return Truth(
        columns.name, stays, found_hours, values, tuple(columns.header[place] for place in truth)
    )


def read_predictions(task: Task, source: Source) -> Predictions:
    """Read a prediction file, all columns by name.

    Raises:
        UserError: a column is missing, a cell cannot be read, or a key is incomplete.
    """
    columns = open_columns(source)
    keys = _keys(task)
    names = keys + task.truth_columns + task.prediction_columns
    stay, *rest = columns.positions(names)
    hours = rest.pop(0) if task.has_period_length else -1
    half = len(task.truth_columns)
    stays, found_hours, (truth, prediction) = _read(
        task, columns, stay, hours, [rest[:half], rest[half:]]
    )
    return Predictions(columns.name, stays, found_hours, truth, prediction)


def _keys(task: Task) -> tuple[str, ...]:
    return ("stay", "period_length") if task.has_period_length else ("stay",)


def _read(
    task: Task, columns: Columns, stay: int, hours: int, blocks: list[list[int]]
) -> tuple[Any, Singles | None, list[Doubles]]:
    numbers = [place for block in blocks for place in block]
    if task.has_period_length:
        numbers.append(hours)
    found = columns.read([stay], numbers)
    stays = found[stay]
    if stays.null_count:
        _require_complete(columns.name, "stay", stays.is_null().to_numpy(zero_copy_only=False))
    period = None
    if task.has_period_length:
        # Single floats, as the benchmark reads them: 48, 48.0 and 48.000000 are one key.
        # Adding zero makes one number of 0 and -0.
        period = doubles(found[hours]).astype(np.float32) + np.float32(0)
        if task.has_sample_times:
            _require_complete(columns.name, "period_length", np.isnan(period))
    arrays = []
    for block in blocks:
        values = [doubles(found[place]) for place in block]
        arrays.append(np.column_stack(values) if task.kind is Kind.LABELS else values[0])
    if task.kind is Kind.HOURS:
        # The truth of length of stay is rounded to single floats, and so it enters the errors.
        arrays[0] = arrays[0].astype(np.float32).astype(np.float64)
    return stays, period, arrays


def _require_complete(name: str, column: str, empty: npt.NDArray[np.bool_]) -> None:
    if empty.any():
        rows = np.flatnonzero(empty)
        shown = ", ".join(str(row + 1) for row in rows[:10])
        raise UserError(
            f"{name}: {column} is empty in {len(rows):,} rows; first: {shown} (not counting the"
            " header)."
        )
