"""Metrics of a binary outcome, the ranking they depend on, calibration, and tests of two systems.

Sorted from high to low score, a ROC or precision-recall curve only moves in a way that matters
where a positive comes. So each distinct score with a positive is a step, with three counts: its
positives, the negatives tied with them, and the negatives in the gap above it, which need not be
told apart. 523,208 rows with 9,683 positives become 19,367 counts.

DeLong's variance of the area under the ROC curve, and the paired test of two areas: E. R. DeLong,
D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44 (1988) 837-845; by midranks in O(n log n):
X. Sun and W. Xu, IEEE Signal Processing Letters 21 (2014) 1389-1393. The placements are kept as
whole numbers (twice the count of rows that a row outranks, a tie being one) until the last
division, so that equal rankings give a variance of exactly zero. Rows are taken as independent;
where one patient has many rows, the test is too sure.

Right and wrong answers are compared by McNemar's test (Psychometrika 12 (1947) 153-157) in its
exact form, the two-sided binomial test on the discordant answers. It takes rows as independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medeval.scoring.resample import Counts, Floats, Integers, Labels, Statistic

NAMES = ("AUC of ROC", "AUC of PRC", "min(+P, Se)")
ONE_CLASS = "one class"
ERROR_BINS = 10
# A prediction of exactly 0 or 1 has no logit; it counts as one in a million.
LEAST_PROBABILITY = 1e-6
MOST_STEPS = 50
CLOSE = 1e-10
DELONG = (
    *("first_value", "second_value", "difference", "standard_error"),
    *("low", "high", "z", "p_value"),
)


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
    sorted_scores, positive = scores[order], truth[order]
    group = np.zeros(len(order), dtype=np.int64)  # of rows with one score
    np.cumsum(sorted_scores[1:] != sorted_scores[:-1], out=group[1:])
    is_step = np.bincount(group[positive], minlength=group[-1] + 1 if len(order) else 0) > 0
    n_steps = int(is_step.sum())
    # Of each row the first step at or below it.
    step: Integers = (np.cumsum(is_step) - is_step)[group]
    tied = ~positive & is_step[group]
    if only_ranks and n_steps:
        # A step is one with that above it where no negative stands between them.
        has_tie = np.bincount(step[tied], minlength=n_steps) > 0
        between = np.bincount(step[~positive & ~tied], minlength=n_steps + 1)
        starts = (between[:n_steps] > 0) | has_tie
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


def ratio(numerator: ArrayLike, denominator: ArrayLike, least: float = 0.0) -> Floats:
    """Divide; NaN where the divisor is 0, or no larger than what is left of 0 after rounding."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    )
    divided: Floats = np.full(bottom.shape, np.nan)
    np.divide(top, bottom, out=divided, where=np.abs(bottom) > least)
    return divided


class Binary(Statistic):
    """The three metrics of mimic3-benchmarks' evaluate_ihm.py and evaluate_decomp.py.

    `AUC of ROC`, `AUC of PRC` (the trapezoid area under the precision-recall curve, not average
    precision) and `min(+P, Se)`.

    Attributes:
        watch: is given the curves of each batch, those of the data themselves first; None for none.
    """

    names = NAMES
    why = (ONE_CLASS,) * len(NAMES)
    watch: Callable[[Curve], object] | None = None

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
        if self.watch is not None:
            self.watch(curve)
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


def expected_calibration_error(
    truth: NDArray[np.bool_], prediction: Floats, weights: Floats
) -> Floats:
    """Return the mean distance of prediction and truth over ten bins of equal width (batch,).

    A bin counts by its rows (Naeini, Cooper and Hauskrecht 2015, AAAI 29); 1 belongs to the last
    one.

    Args:
        truth: shape (n,).
        prediction: shape (n,).
        weights: shape (batch, n).
    """
    place = np.minimum((prediction * ERROR_BINS).astype(np.int64), ERROR_BINS - 1)
    excess = prediction - truth
    distances = [np.abs(np.bincount(place, one * excess)).sum() for one in weights]
    return ratio(distances, weights.sum(axis=1))


def logits(prediction: Floats) -> Floats:
    """Return log odds, shape (n,)."""
    inside = np.clip(prediction, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.log(inside) - np.log1p(-inside)


def fit_slope(
    linear: Floats, truth: NDArray[np.bool_], weights: Floats, start: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return intercept and slope of the logistic regression of the truth on log odds.

    1 is right, below 1 too extreme (Cox 1958, Biometrika 45:562-565). Newton's method; None where
    there is no finite maximum, as with one class, one prediction, or classes that do not overlap.

    Args:
        linear: log odds of the predictions, shape (n,).
        truth: shape (n,).
        weights: shape (n,).
        start: where to begin; 0 and 1 by default.
    """
    used = weights > 0
    if not used.all():
        linear, truth, weights = linear[used], truth[used], weights[used]
    if not truth.any() or truth.all():
        return None
    positive, negative = linear[truth], linear[~truth]
    if positive.min() >= negative.max() or negative.min() >= positive.max():
        return None
    intercept, slope = start or (0.0, 1.0)
    for _ in range(MOST_STEPS):
        # Beyond +-40 the probability is 0 or 1 in float64 anyway, and exp stays finite.
        probability = 1 / (1 + np.exp(-np.clip(intercept + slope * linear, -40, 40)))
        residual = weights * (truth - probability)
        curvature = weights * probability * (1 - probability)
        along = curvature * linear
        a, b, c = curvature.sum(), along.sum(), np.einsum("n,n->", along, linear)
        determinant = a * c - b * b
        if not determinant > 0:
            return None
        first, second = residual.sum(), np.einsum("n,n->", residual, linear)
        steps = (c * first - b * second) / determinant, (a * second - b * first) / determinant
        intercept, slope = float(intercept + steps[0]), float(slope + steps[1])
        if max(map(abs, steps)) < CLOSE * (1 + abs(intercept) + abs(slope)):
            return intercept, slope
    return None if start is None else fit_slope(linear, truth, weights, None)


def delong_test(truth: ArrayLike, first: ArrayLike, second: ArrayLike) -> dict[str, Any]:
    """Test whether two scores of the same rows have the same area under the ROC curve.

    Args:
        truth: 0 or 1 (or false and true) for each row.
        first: the first score of each row, finite.
        second: the second score of each row, finite.

    Returns:
        Both areas (`first_value`, `second_value`), `difference` (first minus second) with
        `standard_error` and the ends of its normal interval (`low`, `high`, `level`), `z` (0 if
        difference and error are) and the two-sided `p_value`; `reason` says why something is None.
    """
    from medeval.models.scores import LEVEL  # data models are slow to load

    found: dict[str, Any] = {**dict.fromkeys(DELONG), "level": LEVEL, "reason": None}
    positive = np.asarray(truth, dtype=np.bool_)
    m, n = int(positive.sum()), int((~positive).sum())
    if m == 0 or n == 0:
        return found | {"reason": "the truth has one class only"}
    (first_above, first_below), (second_above, second_below) = (
        _placements(positive, np.asarray(scores, dtype=np.float64)) for scores in (first, second)
    )
    above, below = first_above - second_above, first_below - second_below
    sums = (first_above.sum(), second_above.sum(), above.sum())
    found |= dict(zip(DELONG, (float(one) / (2 * m * n) for one in sums), strict=False))
    if m == 1 or n == 1:
        return found | {"reason": "a class has one row only, so there is no variance"}
    # The variances of both means, each placement a share of the other class.
    variances = above.var(ddof=1) / (2 * n) ** 2 / m, below.var(ddof=1) / (2 * m) ** 2 / n
    difference, error = found["difference"], math.sqrt(float(variances[0]) + float(variances[1]))
    found["standard_error"] = error
    if error == 0 and difference != 0:
        reason = "the estimated variance of the difference is zero although the areas differ"
        return found | {"reason": reason}
    z = difference / error if error else 0.0
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * error
    found |= {"low": difference - half, "high": difference + half}
    return found | {"z": z, "p_value": math.erfc(abs(z) / math.sqrt(2))}


def _placements(positive: NDArray[np.bool_], scores: Floats) -> tuple[Floats, Floats]:
    """Return for each positive twice the negatives below it, for each negative the positives above.

    A row's midrank among all less that within its class: the rows of the other below it.
    """
    from scipy.stats import rankdata  # type: ignore[import-untyped]  # slow to load

    ranks = rankdata(scores)
    above = 2 * (ranks[positive] - rankdata(scores[positive]))
    below = 2 * (ranks[~positive] - rankdata(scores[~positive]))
    return above, 2 * int(positive.sum()) - below


def mcnemar(first: ArrayLike, second: ArrayLike) -> dict[str, Any]:
    """Test whether two are right equally often.

    Args:
        first: for each question, whether the first answered right.
        second: the same for the second.

    Returns:
        How many questions were answered right by whom, and the two-sided `p_value`, which is 1
        where no answer is discordant.
    """
    from scipy.stats import binomtest  # slow to load

    a, b = (np.asarray(right, dtype=np.bool_) for right in (first, second))
    names = ("both_right", "only_first", "only_second", "both_wrong")
    right = (a & b, a & ~b, b & ~a, ~a & ~b)
    found: dict[str, Any] = {name: int(one.sum()) for name, one in zip(names, right, strict=True)}
    discordant = found["only_first"] + found["only_second"]
    p_value = float(binomtest(found["only_first"], discordant).pvalue) if discordant else 1.0
    return {**found, "p_value": p_value}
