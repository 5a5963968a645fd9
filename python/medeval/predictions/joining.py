"""Predictions put beside the truth, by key; whatever does not fit is named, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from medeval.errors import UserError
from medeval.predictions.files import Doubles, Predictions, Singles, Truth
from medeval.predictions.tasks import Kind, Task

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
SUFFIX = "_timeseries.csv"
HOURS = "period_length"
SHOWN = 10


@dataclass(frozen=True)
class Joined:
    """Rows to score, in the listfile's order.

    Attributes:
        names: the different stays.
        stays: which of them each row belongs to.
        truth: (n,) or (n, 25).
        prediction: in the truth's shape.
        columns: the names of the truth's columns.
        warnings: what is odd, and does not change the numbers.
    """

    names: list[str]
    stays: Whole
    truth: Doubles
    prediction: Doubles
    columns: tuple[str, ...]
    warnings: tuple[str, ...]


def join(
    task: Task, truth: Truth, predictions: Predictions, *, allow_duplicates: bool = False
) -> Joined:
    """Find each listed row's prediction by its key.

    With duplicates allowed a row counts once for each prediction that has its key, in the order
    of the prediction file: so does a left join.

    Raises:
        UserError: rows without prediction, keys that are there twice, a truth that differs,
            predictions that are no finite numbers. Every kind is named with its count and its
            first ten keys.
    """
    keys = number_keys(task, truth, predictions)
    size = len(keys.listed)
    order = np.argsort(keys.predicted, kind="stable")
    ordered = keys.predicted[order]
    first = np.searchsorted(ordered, keys.listed, side="left")
    counts = np.searchsorted(ordered, keys.listed, side="right") - first

    listed_rows = np.repeat(np.arange(size), counts)
    starts = np.cumsum(counts) - counts
    within = np.arange(len(listed_rows)) - np.repeat(starts, counts)
    predicted_rows = order[np.repeat(first, counts) + within]

    is_class = task.kind is not Kind.HOURS
    findings = bad_cells(
        truth.name, truth.columns, truth.truth, "truth", keys.shown, is_class=is_class
    )
    if not allow_duplicates:
        findings += duplicates(truth.name, keys, keys.listed, 0)
        findings += duplicates(predictions.name, keys, keys.predicted, size)
    missing = np.flatnonzero(counts == 0)
    findings += without_prediction(truth, predictions, keys, missing)
    prediction = predictions.prediction[predicted_rows]
    values = truth.truth[listed_rows]

    def shown(rows: Whole) -> list[str]:
        return keys.shown(listed_rows[rows])

    findings += bad_cells(
        predictions.name, task.prediction_columns, prediction, "prediction", shown
    )
    findings += differences(task, truth, predictions, listed_rows, predicted_rows, shown)
    if findings:
        raise UserError("\n".join(findings))

    used = np.zeros(len(keys.predicted), dtype=np.bool_)
    used[predicted_rows] = True
    return Joined(
        keys.names,
        keys.stays[listed_rows],
        values,
        prediction,
        truth.columns,
        tuple(oddities(task, truth, predictions, values, prediction, int((~used).sum()))),
    )


@dataclass(frozen=True)
class Keys:
    """The keys of both files.

    Attributes:
        names: the different stays.
        stays: which of them each row belongs to; rows of the listfile come before the others.
        hours: period_length of each row; None if it is no part of the key.
        listed: the listfile's keys.
        predicted: the prediction file's keys.
    """

    names: list[str]
    stays: Whole
    hours: Singles | None
    listed: Whole
    predicted: Whole

    def shown(self, rows: Whole) -> list[str]:
        """Return keys as messages show them."""
        hours = self.hours
        if hours is None:
            return [self.names[self.stays[row]] for row in rows]
        return [f"{self.names[self.stays[row]]} hour {hours[row]:g}" for row in rows]


def number_keys(task: Task, truth: Truth, predictions: Predictions) -> Keys:
    """Number the stays of both files alike; the hour's bits stand beside the number."""
    both = pa.concat_arrays([truth.stays, predictions.stays]).dictionary_encode()
    stays = np.from_dlpack(both.indices).astype(np.int64)
    names = both.dictionary.to_pylist()
    keys = stays
    hours = None
    if task.has_sample_times and truth.hours is not None and predictions.hours is not None:
        hours = np.concatenate([truth.hours, predictions.hours])
        keys = (stays << 32) | hours.view(np.uint32).astype(np.int64)
    size = len(truth.stays)
    return Keys(names, stays, hours, keys[:size], keys[size:])


def bad_cells(
    name: str,
    columns: tuple[str, ...],
    values: Doubles,
    what: str,
    shown: Callable[[Whole], list[str]],
    *,
    is_class: bool = False,
) -> list[str]:
    """Name rows of a file with empty or infinite cells, and the columns if there are many.

    Args:
        name: of the file.
        columns: the names of the cells' columns.
        values: shape (n,) or (n, columns).
        what: they are, a truth or a prediction.
        shown: returns the keys of rows.
        is_class: whether they must be 0 or 1, too.
    """
    kinds = {f"an empty or NaN {what}": np.isnan(values), f"an infinite {what}": np.isinf(values)}
    if is_class:
        other = np.isfinite(values) & (values != 0) & (values != 1)
        kinds[f"a {what} that is neither 0 nor 1"] = other
    findings = []
    for kind, bad in kinds.items():
        by_row = _columns(bad)
        rows = np.flatnonzero(by_row.any(axis=1))
        if len(rows):
            named = ", ".join(columns[place] for place in np.flatnonzero(by_row.any(axis=0)))
            where = f" in {named}" if len(columns) > 1 else ""
            listed = _list(shown(rows[:SHOWN]), len(rows))
            findings.append(f"{_rows(len(rows))} of {name} with {kind}{where}: {listed}.")
    return findings


def duplicates(name: str, keys: Keys, numbers: Whole, offset: int) -> list[str]:
    """Name keys that one file has more than once; its rows start at `offset` in `keys`."""
    values, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    repeated = counts > 1
    if not repeated.any():
        return []
    rows = np.sort(first[repeated])
    surplus = len(numbers) - len(values)
    return [
        f"{_counted(len(rows), 'key is', 'keys are')} more than once in {name}"
        f" ({_rows(surplus)} too many): {_list(keys.shown(rows[:SHOWN] + offset), len(rows))}."
        " --allow-duplicates counts each of them."
    ]


def without_prediction(
    truth: Truth, predictions: Predictions, keys: Keys, missing: Whole
) -> list[str]:
    """Name listed rows that have no prediction."""
    if not len(missing):
        return []
    size = len(keys.listed)
    return [
        f"{len(missing):,} of the {size:,} rows of {truth.name} have no prediction in"
        f" {predictions.name}: {_list(keys.shown(missing[:SHOWN]), len(missing))}."
        + _suffix_hint(keys, size, missing)
    ]


def _suffix_hint(keys: Keys, size: int, missing: Whole) -> str:
    """Say so if a stay is missing only because one file leaves the end of its name away."""
    wanted = {keys.names[number] for number in np.unique(keys.stays[missing])}
    given = {keys.names[number] for number in np.unique(keys.stays[size:])}
    shorter = len(wanted & {name + SUFFIX for name in given})
    if shorter:
        return (
            f" {shorter:,} of these stays are in the prediction file without `{SUFFIX}`: the key"
            " is the whole name as the listfile has it."
        )
    longer = len({name + SUFFIX for name in wanted} & given)
    if longer:
        return f" {longer:,} of these stays lack `{SUFFIX}` in the listfile: the key is the name."
    return ""


def differences(
    task: Task,
    truth: Truth,
    predictions: Predictions,
    listed_rows: Whole,
    predicted_rows: Whole,
    shown: Callable[[Whole], list[str]],
) -> list[str]:
    """Compare what both files say of the truth, by value: 1 and 1.0 are the same."""
    wanted = _columns(truth.truth[listed_rows])
    given = _columns(predictions.truth[predicted_rows])
    columns: list[tuple[str, Doubles, Doubles]] = [
        (
            column if column == own else f"{own} ({column})",
            wanted[:, place],
            given[:, place],
        )
        for place, (column, own) in enumerate(zip(truth.columns, task.truth_columns, strict=True))
    ]
    if task.kind is Kind.LABELS and truth.hours is not None and predictions.hours is not None:
        hours = truth.hours[listed_rows].astype(np.float64)
        columns.insert(0, (HOURS, hours, predictions.hours[predicted_rows].astype(np.float64)))
    differing = [
        (name, left, right, bad)
        for name, left, right in columns
        if (bad := _differs(name, left, right)).any()
    ]
    if not differing:
        return []
    name, left, right, bad = differing[0]
    total = len(np.flatnonzero(np.logical_or.reduce([entry[3] for entry in differing])))
    rows = np.flatnonzero(bad)
    examples = [
        f"{key} ({_value(left[row])} in the listfile, {_value(right[row])} in the predictions)"
        for key, row in zip(shown(rows[:SHOWN]), rows[:SHOWN], strict=True)
    ]
    others = [entry[0] for entry in differing[1:]]
    also = f" {_counted(len(others), 'other column', 'other columns')}" if others else ""
    also = f" It also differs in{also}: {', '.join(others)}." if others else ""
    return [
        f"The truth differs between {truth.name} and {predictions.name} in {_rows(total)}; in"
        f" column {name}: {_list(examples, len(rows))}.{also}"
    ]


def _differs(name: str, left: Doubles, right: Doubles) -> Flags:
    """Compare one column; an empty truth in the listfile is a finding of its own."""
    ignored = np.isnan(left) & (np.isnan(right) if name == HOURS else True)
    return np.asarray((left != right) & ~ignored)


def oddities(
    task: Task,
    truth: Truth,
    predictions: Predictions,
    values: Doubles,
    prediction: Doubles,
    extra: int,
) -> Iterator[str]:
    """Yield what is odd and does not stop a score; `extra` rows have no place in the listfile."""
    if extra:
        yield f"{_rows(extra)} of {predictions.name} left out: not in {truth.name}."
    if task.kind is Kind.HOURS:
        negative = int((values < 0).sum())
        if negative:
            yield (
                f"{_rows(negative)} with a true length of stay below 0 hours: MAPE divides by the"
                " truth plus 0.1 hours, so it can be huge."
            )
    else:
        outside = int(((prediction < 0) | (prediction > 1)).sum())
        if outside:
            what = _counted(outside, "prediction is", "predictions are")
            yield f"{what} outside [0, 1]; only ranks count in these metrics."


def _rows(count: int) -> str:
    return _counted(count, "row", "rows")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _columns(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values if values.ndim > 1 else values[:, None]


def _value(value: float) -> str:
    return "empty" if np.isnan(value) else f"{value:.9g}"


def _list(shown: list[str], count: int) -> str:
    more = f"; and {count - len(shown):,} more" if count > len(shown) else ""
    return "; ".join(shown) + more
