"""Metrics of a binary outcome, such as in-hospital mortality, and the ranking they depend on.

Sorted from high to low score, a ROC or precision-recall curve only moves in a way that matters
where a positive comes. So each distinct score with a positive is a step, with three counts: its
positives, the negatives tied with them, and the negatives in the gap above it, which need not be
told apart. 523,208 rows with 9,683 positives become 19,367 counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medeval.scoring.bootstrap import Statistic
from medeval.scoring.resample import Counts, Floats, Integers, Labels

NAMES = ("AUC of ROC", "AUC of PRC", "min(+P, Se)")
ONE_CLASS = "one class"


@dataclass(frozen=True)
class Steps:
    """The steps of one ranking, G of them.

    Attributes:
        labels: bin of each row, shape (n,): 0 to G are the gaps (the last one below all steps),
            G + 1 to 2 G the positives of the steps, the rest (where there are ties between
            positives and negatives) the tied negatives of the steps.
        n_steps: G.
        n_bins: 2 G + 1, or 3 G + 1 with ties.
    """

    labels: Labels
    n_steps: int
    n_bins: int


def make_steps(
    truth: NDArray[np.bool_], scores: NDArray[np.float64], *, only_ranks: bool = False
) -> Steps:
    """Sort once and label the rows.

    Args:
        truth: whether a row is positive, shape (n,).
        scores: the higher, the more likely positive, shape (n,).
        only_ranks: join steps between which there is no negative. The area under the ROC curve
            stays as it is, the precision-recall curve does not.
    """
    order = np.argsort(-scores, kind="stable")
    sorted_scores = scores[order]
    positive = truth[order]
    group = np.zeros(len(order), dtype=np.int64)  # of rows with one score
    np.cumsum(sorted_scores[1:] != sorted_scores[:-1], out=group[1:])
    is_step = np.bincount(group[positive], minlength=group[-1] + 1 if len(order) else 0) > 0
    n_steps = int(is_step.sum())
    # Of each row the first step at or below it.
    step: Integers = (np.cumsum(is_step) - is_step)[group]
    tied = ~positive & is_step[group]
    gap = ~positive & ~tied
    if only_ranks and n_steps:
        # A step is one with that above it where no negative stands between them.
        has_tie = np.bincount(step[tied], minlength=n_steps) > 0
        starts = (np.bincount(step[gap], minlength=n_steps + 1)[:n_steps] > 0) | has_tie
        starts[1:] |= has_tie[:-1]
        starts[0] = True
        number = np.cumsum(starts) - 1
        n_steps = int(number[-1]) + 1
        step = np.append(number, n_steps)[step]
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = step + (n_steps + 1) * positive + (2 * n_steps + 1) * tied
    n_bins = (3 if tied.any() else 2) * n_steps + 1
    # A small table stays in the cache while rows are drawn at random.
    return Steps(labels.astype(np.min_scalar_type(n_bins)), n_steps, n_bins)


@dataclass(frozen=True)
class Curve:
    """Counts along the curve in each of a batch of resamples, as exact floats.

    Attributes:
        positives: of each step, shape (batch, G), as are the next two and `true`.
        false_before: negatives above the step.
        false: negatives down to and including the step.
        n_positives: all positives, shape (batch,).
        n_negatives: all negatives, shape (batch,).
    """

    positives: Floats
    false_before: Floats
    false: Floats
    n_positives: Floats
    n_negatives: Floats

    @cached_property
    def true(self) -> Floats:
        """Positives down to and including the step."""
        return np.cumsum(self.positives.astype(np.int64), axis=1).astype(np.float64)


def make_curve(steps: Steps, counts: Counts) -> Curve:
    """Cumulate counts of shape (batch, n_bins), in their own type, which must hold their sums."""
    ends = [steps.n_steps + 1, 2 * steps.n_steps + 1]
    above, own, level = np.split(counts, ends, axis=1)
    # Sums are of integers: numpy's running sum of floats is several times slower.
    gaps = np.cumsum(above, axis=1, dtype=counts.dtype)
    before = through = gaps[:, :-1]
    n_negatives = gaps[:, -1]
    if level.shape[1]:
        tied = np.cumsum(level, axis=1, dtype=counts.dtype)
        before = before + tied - level
        through = through + tied
        n_negatives = n_negatives + tied[:, -1]
    false = through.astype(np.float64)
    positives = own.astype(np.float64)
    return Curve(
        positives,
        false if before is through else before.astype(np.float64),
        false,
        positives.sum(axis=1),
        n_negatives.astype(np.float64),
    )


def area_under_roc(curve: Curve) -> Floats:
    """Return the area under the ROC curve, ties counting one half; NaN where a class is absent.

    The Mann-Whitney form: the share of pairs of a positive and a negative in the right order.
    """
    twice = 2 * curve.n_negatives[:, None] - curve.false_before - curve.false
    pairs = np.einsum("bg,bg->b", curve.positives, twice) / 2
    return ratio(pairs, curve.n_positives * curve.n_negatives)


def trapezoid_under_precision_recall(curve: Curve) -> Floats:
    """Return `sklearn.metrics.auc(recall, precision)`: the trapezoids, not average precision.

    The curve starts at recall 0 with precision 1, as scikit-learn's does, and has one point per
    distinct score. Only segments that gain recall have width, and those end at a step. NaN where
    there is no positive.
    """
    after = precision(curve.true, curve.false)
    before = precision(curve.true - curve.positives, curve.false_before)
    height = (after + before) / 2
    return ratio(np.einsum("bg,bg->b", curve.positives, height), curve.n_positives)


def average_precision(curve: Curve) -> Floats:
    """Return `sklearn.metrics.average_precision_score`: no interpolation between points."""
    height = precision(curve.true, curve.false)
    return ratio(np.einsum("bg,bg->b", curve.positives, height), curve.n_positives)


def min_precision_recall(curve: Curve) -> Floats:
    """Return the greatest min(precision, recall) along the curve; NaN where there is no positive.

    With the true positives divided by the larger of their two divisors. It is reached at a step:
    in between, precision falls and recall stays.
    """
    divisor = np.maximum(curve.true + curve.false, np.maximum(curve.n_positives, 1)[:, None])
    best: Floats = (curve.true / divisor).max(axis=1, initial=0.0)
    best[curve.n_positives == 0] = np.nan
    return best


def precision(true: Floats, false: Floats) -> Floats:
    """Return true / (true + false); 1 where there is no row yet, the curve's start."""
    rows = true + false
    shares: Floats = true / np.maximum(rows, 1)
    shares[rows == 0] = 1.0
    return shares


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Divide; NaN where the divisor is 0."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    )
    divided: Floats = np.full(bottom.shape, np.nan)
    np.divide(top, bottom, out=divided, where=bottom != 0)
    return divided


class Binary(Statistic):
    """The three metrics of mimic3-benchmarks' evaluate_ihm.py and evaluate_decomp.py.

    `AUC of ROC`, `AUC of PRC` (the trapezoid area under the precision-recall curve, not average
    precision) and `min(+P, Se)`.
    """

    names = NAMES
    why = (ONE_CLASS,) * len(NAMES)

    def __init__(self, truth: ArrayLike, prediction: ArrayLike, *, strict: bool = False) -> None:
        """Sort the rows once.

        Args:
            truth: 0 or 1, shape (n,).
            prediction: scores, shape (n,); only their order counts.
            strict: on rows of one class, the numbers that scikit-learn 1.6 and later give: without
                any positive 0.5 and 0 for the second and third metric. By default all are NaN.
        """
        self.steps = make_steps(*outcomes(truth, prediction, 1))
        self.strict = strict
        self.labels, self.n_bins = self.steps.labels, self.steps.n_bins
        self.rows = len(self.steps.labels)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, 3), of counts of shape (batch, n_bins)."""
        curve = make_curve(self.steps, counts)
        metrics = (area_under_roc, trapezoid_under_precision_recall, min_precision_recall)
        values = np.stack([metric(curve) for metric in metrics], axis=1)
        if self.strict:
            # Without a positive scikit-learn's recall is 1 at every score and its precision 0, then
            # 0 and 1 at the end: half a unit square, and nowhere both above 0.
            values[curve.n_positives == 0, 1:] = (0.5, 0.0)
        else:
            values[(curve.n_positives == 0) | (curve.n_negatives == 0)] = np.nan
        return values


def outcomes(
    truth: ArrayLike, prediction: ArrayLike, dimensions: int
) -> tuple[NDArray[np.bool_], Floats]:
    """Check and convert outcomes and their scores, one column or, with 2 dimensions, several.

    Returns:
        Whether a row is positive, and its score, both in the shape of the truth.

    Raises:
        ValueError: the shapes differ, a truth is neither 0 nor 1, or a score is not finite.
    """
    outcome, scores = np.asarray(truth), np.asarray(prediction, dtype=np.float64)
    if outcome.ndim != dimensions or outcome.shape != scores.shape:
        raise ValueError(f"truth has shape {outcome.shape}, prediction {scores.shape}")
    if not np.isin(outcome, (0, 1)).all():
        raise ValueError("truth holds values other than 0 and 1")
    if not np.isfinite(scores).all():
        raise ValueError("prediction holds missing or infinite values")
    return outcome == 1, scores
