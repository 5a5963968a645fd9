"""Predictions put beside the truth, by key; whatever does not fit is named, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from medeval.errors import UserError
from medeval.tasks.mimic3.files import Doubles, Rows
from medeval.tasks.mimic3.tasks import Kind, Task

Whole = npt.NDArray[np.int64]
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


def join(task: Task, truth: Rows, predictions: Rows, *, allow_duplicates: bool = False) -> Joined:
    """Find each listed row's prediction by its key.

    With duplicates allowed a row counts once for each prediction that has its key, in the order
    of the prediction file: so does a left join.

    Raises:
        UserError: rows without prediction, keys that are there twice, a truth that differs,
            predictions that are no finite numbers. Every kind is named with its count and its
            first ten keys.
    """
    keys = Keys(task, truth, predictions)
    order = np.argsort(keys.predicted, kind="stable")
    ordered = keys.predicted[order]
    first = np.searchsorted(ordered, keys.listed, side="left")
    counts = np.searchsorted(ordered, keys.listed, side="right") - first

    listed_rows = np.repeat(np.arange(keys.size), counts)
    starts = np.cumsum(counts) - counts
    within = np.arange(len(listed_rows)) - np.repeat(starts, counts)
    predicted_rows = order[np.repeat(first, counts) + within]
    prediction = predictions.prediction[predicted_rows]
    values = truth.truth[listed_rows]

    is_class, every = task.kind is not Kind.HOURS, np.arange(keys.size)
    findings = [*keys.bad_cells(truth.name, "truth", truth.columns, truth.truth, every, is_class)]
    if not allow_duplicates:
        findings += keys.duplicates(truth.name, keys.listed, 0)
        findings += keys.duplicates(predictions.name, keys.predicted, keys.size)
    findings += keys.without_prediction(truth.name, predictions.name, np.flatnonzero(counts == 0))
    columns = task.prediction_columns
    findings += keys.bad_cells(predictions.name, "prediction", columns, prediction, listed_rows)
    findings += keys.differences(task, truth, predictions, listed_rows, predicted_rows)
    if findings:
        raise UserError("\n".join(findings))
    warnings = []
    if surplus := len(keys.predicted) - len(np.unique(predicted_rows)):
        warnings.append(
            f"{counted(surplus, 'row')} of {predictions.name} left out: not in {truth.name}."
        )
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
    if task.kind is not Kind.LABELS:
        values, prediction = values[:, 0], prediction[:, 0]
    stays = keys.stays[listed_rows]
    return Joined(keys.names, stays, values, prediction, truth.columns, tuple(warnings))


class Keys:
    """The keys of both files, and what does not fit, in sentences.

    Attributes:
        names: the different stays.
        stays: which of them each row belongs to; rows of the listfile come before the others.
        hours: period_length of each row; None if it is no part of the key.
        size: how many rows the listfile has.
        listed: the listfile's keys.
        predicted: the prediction file's keys.
    """

    def __init__(self, task: Task, truth: Rows, predictions: Rows) -> None:
        """Number the stays of both files alike; the hour's bits stand beside the number."""
        both = pa.concat_arrays([truth.stays, predictions.stays]).dictionary_encode()
        self.stays = np.from_dlpack(both.indices).astype(np.int64)
        self.names: list[str] = both.dictionary.to_pylist()
        self.hours = None
        keys = self.stays
        if task.has_sample_times and truth.hours is not None and predictions.hours is not None:
            self.hours = np.concatenate([truth.hours, predictions.hours])
            keys = (keys << 32) | self.hours.view(np.uint32).astype(np.int64)
        self.size = len(truth.stays)
        self.listed, self.predicted = keys[: self.size], keys[self.size :]

    def first_of(self, rows: Whole, notes: Mapping[int, str] | None = None) -> str:
        """Return the first ten keys, each with its note, and how many more there are."""
        shown = [
            self.names[self.stays[row]]
            + ("" if self.hours is None else f" hour {self.hours[row]:g}")
            + (notes or {}).get(place, "")
            for place, row in enumerate(rows[:SHOWN])
        ]
        more = f"; and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
        return "; ".join(shown) + more

    def bad_cells(
        self,
        name: str,
        what: str,
        columns: tuple[str, ...],
        values: Doubles,
        row_of: Whole,
        is_class: bool = False,
    ) -> Iterator[str]:
        """Name rows of a file with cells that cannot be scored, and the columns if there are many.

        Args:
            name: of the file.
            what: stands in the cells.
            columns: the names of the cells' columns.
            values: the cells, shape (n, columns).
            row_of: the listed row of each of the n.
            is_class: whether a cell is 0 or 1.
        """
        empty, infinite = np.isnan(values), np.isinf(values)
        kinds = {f"an empty or NaN {what}": empty, f"an infinite {what}": infinite}
        if is_class:
            other = ~empty & ~infinite & (values != 0) & (values != 1)
            kinds[f"a {what} that is neither 0 nor 1"] = other
        for kind, bad in kinds.items():
            rows = np.flatnonzero(bad.any(axis=1))
            if len(rows):
                named = ", ".join(columns[place] for place in np.flatnonzero(bad.any(axis=0)))
                where = f" in {named}" if len(columns) > 1 else ""
                keys = self.first_of(row_of[rows])
                yield f"{counted(len(rows), 'row')} of {name} with {kind}{where}: {keys}."

    def duplicates(self, name: str, numbers: Whole, offset: int) -> Iterator[str]:
        """Name keys that one file has more than once; its rows start at `offset`."""
        values, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        rows = np.sort(first[counts > 1])
        if len(rows):
            keys = "1 key is" if len(rows) == 1 else f"{len(rows):,} keys are"
            yield (
                f"{keys} more than once in {name}"
                f" ({counted(len(numbers) - len(values), 'row')} too many):"
                f" {self.first_of(rows + offset)}. --allow-duplicates counts each of them."
            )

    def without_prediction(self, truth: str, predictions: str, missing: Whole) -> Iterator[str]:
        """Name listed rows that have no prediction.

        It is said where that is only because one file leaves the end of the stays' names away.
        """
        if not len(missing):
            return
        wanted, given = (
            {self.names[number] for number in np.unique(stays)}
            for stays in (self.stays[missing], self.stays[self.size :])
        )
        hint = ""
        if shorter := len(wanted & {name + SUFFIX for name in given}):
            hint = (
                f" {shorter:,} of these stays are in the prediction file without `{SUFFIX}`: the"
                " key is the whole name as the listfile has it."
            )
        elif longer := len({name + SUFFIX for name in wanted} & given):
            hint = (
                f" {longer:,} of these stays lack `{SUFFIX}` in the listfile: the key is the name."
            )
        yield (
            f"{len(missing):,} of the {self.size:,} rows of {truth} have no prediction in"
            f" {predictions}: {self.first_of(missing)}.{hint}"
        )

    def differences(
        self,
        task: Task,
        truth: Rows,
        predictions: Rows,
        listed_rows: Whole,
        predicted_rows: Whole,
    ) -> Iterator[str]:
        """Compare what both files say of the truth, by value: 1 and 1.0 are the same."""
        wanted, given = truth.truth[listed_rows].T, predictions.truth[predicted_rows].T
        columns = {
            own if column == own else f"{own} ({column})": pair
            for column, own, *pair in zip(
                truth.columns, task.truth_columns, wanted, given, strict=True
            )
        }
        if task.kind is Kind.LABELS and truth.hours is not None and predictions.hours is not None:
            hours = truth.hours[listed_rows], predictions.hours[predicted_rows]
            columns = {HOURS: [hour.astype(np.float64) for hour in hours], **columns}
        # An empty truth in the listfile is a finding of its own; hours may be empty in both.
        bad = {
            name: (left != right) & ~(np.isnan(left) & (name != HOURS or np.isnan(right)))
            for name, (left, right) in columns.items()
        }
        differing = [name for name, rows in bad.items() if rows.any()]
        if not differing:
            return
        name, *others = differing
        total = int(np.logical_or.reduce(list(bad.values())).sum())
        rows = np.flatnonzero(bad[name])
        notes = {}
        for place, row in enumerate(rows[:SHOWN]):
            left, right = (
                "empty" if np.isnan(one[row]) else f"{one[row]:.9g}" for one in columns[name]
            )
            notes[place] = f" ({left} in the listfile, {right} in the predictions)"
        also = ""
        if others:
            also = (
                f" It also differs in {counted(len(others), 'other column')}: {', '.join(others)}."
            )
        yield (
            f"The truth differs between {truth.name} and {predictions.name} in"
            f" {counted(total, 'row')}; in column {name}:"
            f" {self.first_of(listed_rows[rows], notes)}.{also}"
        )


def counted(count: int, what: str) -> str:
    """Return a number with what it counts."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
