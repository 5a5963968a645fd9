"""Predictions put beside the truth, by key; whatever does not fit is named, all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medeval.errors import UserError
from medeval.predictions.findings import (
    bad_truth,
    differences,
    duplicates,
    not_finite,
    oddities,
    without_prediction,
)
from medeval.predictions.keys import Whole, number_keys
from medeval.predictions.tables import Doubles, Predictions, Truth
from medeval.predictions.tasks import Task


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

    findings = bad_truth(task, truth, keys)
    if not allow_duplicates:
        findings += duplicates(truth.name, keys, keys.listed, 0)
        findings += duplicates(predictions.name, keys, keys.predicted, size)
    missing = np.flatnonzero(counts == 0)
    findings += without_prediction(truth, predictions, keys, missing)
    prediction = predictions.prediction[predicted_rows]
    values = truth.truth[listed_rows]

    def shown(rows: Whole) -> list[str]:
        return keys.shown(listed_rows[rows])

    findings += not_finite(task, predictions, prediction, shown)
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
