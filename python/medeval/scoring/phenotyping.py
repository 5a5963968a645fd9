"""Metrics of phenotyping: areas under 25 ROC curves, their means, and one area of all pairs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medeval.scoring.binary import (
    EXCLUDE,
    ONE_CLASS,
    STRICT,
    Steps,
    Undefined,
    make_steps,
    outcomes,
    ratio,
)
from medeval.scoring.bootstrap import Engine, Statistic, where_undefined
from medeval.scoring.resample import Counts, Floats, Integers

MEANS = ("Macro ROC AUC", "Micro ROC AUC", "Weighted ROC AUC")
# Largest count that float32 holds exactly, as do all counts below it.
EXACT_FLOAT32 = 1 << 24


class Phenotyping(Statistic):
    """The metrics of mimic3-benchmarks' evaluate_pheno.py, of k labels (there 25).

    `Macro ROC AUC`, `Micro ROC AUC` (of all pairs of a row and a label), `Weighted ROC AUC` (by
    each label's positives in the resample) and `ROC AUC of task 1` to `k`. Each row is a bin of its
    own, as every label ranks the rows anew.

    Attributes:
        steps: of each label, then of all n k pairs pooled.
        undefined: what the weighted mean is on rows without any positive. On all else both rules
            agree: an area of one class is NaN.
    """

    def __init__(
        self, truth: ArrayLike, prediction: ArrayLike, undefined: Undefined = EXCLUDE
    ) -> None:
        """Sort each label and the pooled pairs once.

        Args:
            truth: 0 or 1, shape (n, k).
            prediction: scores, shape (n, k).
            undefined: what the metrics are on rows of one class.
        """
        positive, scores = outcomes(truth, prediction, 2)
        self.rows = self.n_bins = len(scores)
        self.n_labels = scores.shape[1]
        self.names = (*MEANS, *(f"ROC AUC of task {one}" for one in range(1, self.n_labels + 1)))
        # One ranking for each label, and as many for the pooled pairs.
        self.rankings = 2 * self.n_labels
        columns = [*zip(positive.T, scores.T, strict=True), (positive.ravel(), scores.ravel())]
        self.steps = [make_steps(one, score, only_ranks=True) for one, score in columns]
        self.undefined = undefined

    def from_bins(self, counts: Counts, engine: Engine) -> Floats:
        """Return the metrics, shape (batch, k + 3), of row counts of shape (batch, n)."""
        find = self._areas_by_numba if engine is Engine.NUMBA else self._areas
        areas, positives = find(counts)
        averages = means(areas, positives[:, :-1], self.undefined)
        return np.concatenate([averages, areas[:, :-1]], axis=1)

    @cached_property
    def _bins_of_rows(self) -> list[Any]:
        """Return the matrices that turn row counts into bins, one for each ranking.

        Its rows are the bins, its columns the n rows; a value says how many pairs of that row are
        in that bin.
        """
        from scipy import sparse  # type: ignore[import-untyped]  # slow to load

        # Holds these counts exactly and moves half the bytes.
        exact = np.float32 if self.rows * self.n_labels < EXACT_FLOAT32 else np.float64
        matrices = []
        for steps in self.steps:
            pairs = len(steps.labels)
            rows = np.arange(pairs) // (pairs // self.rows)
            places = (np.ones(pairs, dtype=exact), (steps.labels.astype(np.int32), rows))
            matrices.append(sparse.csr_matrix(places, shape=(steps.n_bins, self.rows)))
        return matrices

    def _areas(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return areas and positives of all rankings, shape (batch, k + 1) both."""
        matrices = self._bins_of_rows
        columns = np.ascontiguousarray(counts.T, dtype=matrices[0].dtype)
        found = [
            area_and_positives(steps, matrix @ columns)
            for steps, matrix in zip(self.steps, matrices, strict=True)
        ]
        areas, positives = zip(*found, strict=True)
        return np.stack(areas, axis=1), np.stack(positives, axis=1)

    @cached_property
    def _rows_of_bins(self) -> tuple[NDArray[np.int32], Integers, Integers]:
        """Return the rows of all rankings in their order, as `fast.areas` takes them."""
        rows, ends, last = [], [], []
        done = n_steps = 0
        for place, steps in enumerate(self.steps):
            # Bins are gaps, then positives, then ties: each in the order of the steps.
            labels = steps.labels.astype(np.int64)
            starts = np.array([part.start for part in steps.parts()])
            part = np.searchsorted(starts, labels, side="right") - 1
            rank = 3 * (labels - starts[part]) + part
            order = np.argsort(rank, kind="stable")
            sizes = np.bincount(rank, minlength=3 * (steps.n_steps + 1))
            pooled = place == self.n_labels
            rows.append((order // self.n_labels if pooled else order).astype(np.int32))
            ends.append(done + np.cumsum(sizes).reshape(-1, 3))
            done += len(order)
            n_steps += steps.n_steps + 1
            last.append(n_steps)
        return np.concatenate(rows), np.concatenate(ends), np.array(last)

    def _areas_by_numba(self, counts: Counts) -> tuple[Floats, Floats]:
        """Do what `_areas` does."""
        from medeval.scoring import fast  # numba is slow to load

        found = []
        for start in range(0, len(counts), fast.LANES):
            part = counts[start : start + fast.LANES]
            if len(part) < fast.LANES or part.dtype == np.int64:
                lanes = np.zeros((self.rows, fast.LANES), dtype=np.int32)
                lanes[:, : len(part)] = part.T
            else:
                lanes = np.ascontiguousarray(part.T)
            areas, positives = fast.areas(lanes, *self._rows_of_bins)
            found.append((areas.T[: len(part)], positives.T[: len(part)]))
        all_areas, all_positives = zip(*found, strict=True)
        return np.concatenate(all_areas), np.concatenate(all_positives)

    def reasons(self, values: Floats) -> tuple[str | None, ...]:
        """Say why a point value has no meaning: of means, how many labels have one class."""
        missing = int(np.isnan(values[len(MEANS) :]).sum())
        some = f"{ONE_CLASS} in {missing} of {self.n_labels} labels"
        return where_undefined(values, (some, ONE_CLASS, some, *[ONE_CLASS] * self.n_labels))


def area_and_positives(steps: Steps, bins: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the area under the ROC curve and the number of positives, shape (batch,) both.

    Args:
        steps: the ranking.
        bins: its counts, shape (n_bins, batch).
    """
    # Turned so that a resample lies in one piece; running sums of integers are the fastest. Where
    # float32 holds every count, int32 holds their sum.
    whole = np.int32 if bins.dtype == np.float32 else np.int64
    above, own, level = (bins[part] for part in steps.parts())
    false: NDArray[Any] = np.cumsum(above.T.astype(whole, order="C"), axis=1, dtype=whole)
    outranked = false[:, :-1].astype(np.float64)
    n_negatives = false[:, -1].astype(np.float64)
    if len(level):
        tied: NDArray[Any] = level.T.astype(whole, order="C")
        through: NDArray[Any] = np.cumsum(tied, axis=1, dtype=whole)
        outranked += through - tied / 2
        n_negatives += through[:, -1]
    positives = own.T.astype(np.float64, order="C")
    n_positives = positives.sum(axis=1)
    pairs = n_positives * n_negatives
    return ratio(pairs - np.einsum("bg,bg->b", positives, outranked), pairs), n_positives


def means(areas: Floats, positives: Floats, undefined: Undefined = EXCLUDE) -> Floats:
    """Return the macro, micro and weighted area, shape (batch, 3).

    A label without a positive has no area, so there is no macro mean; its weight is 0, so it is no
    part of the weighted mean (as in scikit-learn). A label without a negative leaves neither.

    Args:
        areas: of each label, then the pooled one, shape (batch, k + 1); NaN is undefined.
        positives: of each label, its weight, shape (batch, k).
        undefined: without any positive there are no weights; scikit-learn gives a mean of 0 then.
    """
    by_label, micro = areas[:, :-1], areas[:, -1]
    weighted = np.where(positives > 0, by_label, 0.0)
    total = positives.sum(axis=1)
    weighted_mean = ratio((weighted * positives).sum(axis=1), total)
    if undefined is STRICT:
        weighted_mean[total == 0] = 0.0
    return np.stack([by_label.mean(axis=1), micro, weighted_mean], axis=1)
