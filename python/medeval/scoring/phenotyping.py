"""Metrics of phenotyping: areas under 25 ROC curves, their means, and one area of all pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from medeval.scoring.binary import (
    ONE_CLASS,
    area_under_roc,
    make_curve,
    make_steps,
    outcomes,
    ratio,
)
from medeval.scoring.bootstrap import Statistic
from medeval.scoring.resample import Counts, Floats

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
        matrices: what turns row counts into the bins of each ranking, shape (bins, n): how many
            pairs of a row are in a bin.
    """

    def __init__(self, truth: ArrayLike, prediction: ArrayLike, *, strict: bool = False) -> None:
        """Sort each label and the pooled pairs once.

        Args:
            truth: 0 or 1, shape (n, k).
            prediction: scores, shape (n, k).
            strict: the weighted mean of rows without any positive is 0, as in scikit-learn.
        """
        from scipy import sparse  # type: ignore[import-untyped]  # slow to load

        positive, scores = outcomes(truth, prediction, 2)
        self.rows = self.n_bins = len(scores)
        n_labels = scores.shape[1]
        self.names = (*MEANS, *(f"ROC AUC of task {one}" for one in range(1, n_labels + 1)))
        missing = sum(not one.any() or one.all() for one in positive.T)
        some = f"{ONE_CLASS} in {missing} of {n_labels} labels"
        self.why = (some, ONE_CLASS, some, *[ONE_CLASS] * n_labels)
        self.strict = strict
        columns = [*zip(positive.T, scores.T, strict=True), (positive.ravel(), scores.ravel())]
        self.steps = [make_steps(one, score, only_ranks=True) for one, score in columns]
        # float32 holds these counts exactly and moves half the bytes; so does int32 their sums.
        is_small = scores.size < EXACT_FLOAT32
        self.exact, self.whole = map(np.dtype, ("f4", "i4") if is_small else ("f8", "i8"))
        self.matrices = []
        for steps in self.steps:
            pairs = len(steps.labels)
            rows = np.arange(pairs) // max(pairs // max(self.rows, 1), 1)
            places = (np.ones(pairs, dtype=self.exact), (steps.labels.astype(np.int32), rows))
            self.matrices.append(sparse.csr_matrix(places, shape=(steps.n_bins, self.rows)))

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, k + 3), of row counts of shape (batch, n)."""
        columns = np.ascontiguousarray(counts.T, dtype=self.exact)
        found = []
        for steps, matrix in zip(self.steps, self.matrices, strict=True):
            # Turned so that a resample lies in one piece. One curve at a time: they are large.
            curve = make_curve(steps, (matrix @ columns).T.astype(self.whole, order="C"))
            found.append((area_under_roc(curve), curve.n_positives))
        areas, positives = (np.stack(part, axis=1) for part in zip(*found, strict=True))
        weights = positives[:, :-1]
        # A label without a positive has no area, so there is no macro mean; its weight is 0, so it
        # is no part of the weighted mean, as in scikit-learn. Without a negative it leaves neither.
        by_label, total = areas[:, :-1], weights.sum(axis=1)
        weighted = ratio((np.where(weights > 0, by_label, 0.0) * weights).sum(axis=1), total)
        if self.strict:
            weighted[total == 0] = 0.0
        means = np.stack([by_label.mean(axis=1), areas[:, -1], weighted], axis=1)
        return np.concatenate([means, by_label], axis=1)
