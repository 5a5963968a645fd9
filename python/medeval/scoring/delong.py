"""DeLong's variance of the area under the ROC curve, and the paired test of two areas.

Sources: E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Comparing the areas under two or more
correlated receiver operating characteristic curves: a nonparametric approach, Biometrics 44 (1988)
837-845; by midranks in O(n log n): X. Sun and W. Xu, Fast implementation of DeLong's algorithm for
comparing the areas under correlated receiver operating characteristic curves, IEEE Signal
Processing Letters 21 (2014) 1389-1393.

Everything is float64. The placements are kept as whole numbers (twice the count of rows that a row
outranks, a tie being one) until the last division, so that equal rankings give a variance of
exactly zero. The method takes rows as independent; where one patient has many rows, it is too sure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

ONE_CLASS = "the truth has one class only"
ONE_ROW = "a class has one row only, so there is no variance"
NO_VARIANCE = "the estimated variance of the difference is zero although the areas differ"


@dataclass(frozen=True)
class DeLong:
    """The paired test of two areas.

    Attributes:
        first: the first area.
        second: the second area.
        difference: first minus second; None if they are undefined.
        standard_error: of the difference.
        low: lower end of the interval of the difference, the normal one.
        high: its upper end.
        z: difference by standard error; 0 if both are 0.
        p_value: two-sided, normal.
        level: coverage of the interval.
        reason: why something is None.
    """

    first: float | None
    second: float | None
    difference: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    z: float | None
    p_value: float | None
    level: float
    reason: str | None


@dataclass(frozen=True)
class _Placements:
    """For each positive, twice the negatives below it, and for each negative the positives above.

    A tie counts one: half of two.
    """

    positives: Doubles
    negatives: Doubles


def delong_test(
    truth: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, *, level: float = 0.95
) -> DeLong:
    """Test whether two scores of the same rows have the same area under the ROC curve.

    Args:
        truth: 0 or 1 (or false and true) for each row.
        first: the first score of each row.
        second: the second score of each row.
        level: coverage of the interval.

    Raises:
        ValueError: shapes differ, a truth is neither 0 nor 1, or a score is not finite.
    """
    positive = _classes(truth)
    m, n = int(positive.sum()), int((~positive).sum())
    one, two = _scores(first, positive), _scores(second, positive)
    if m == 0 or n == 0:
        return DeLong(None, None, None, None, None, None, None, None, level, ONE_CLASS)
    a, b = _placements(positive, one), _placements(positive, two)
    pairs = 2 * m * n
    areas = float(a.positives.sum()) / pairs, float(b.positives.sum()) / pairs
    between = _Placements(a.positives - b.positives, a.negatives - b.negatives)
    difference = float(between.positives.sum()) / pairs
    if m == 1 or n == 1:
        return DeLong(*areas, difference, None, None, None, None, None, level, ONE_ROW)
    error = math.sqrt(_variance(between, m, n))
    if error == 0 and difference != 0:
        return DeLong(*areas, difference, error, None, None, None, None, level, NO_VARIANCE)
    z = difference / error if error else 0.0
    half = NormalDist().inv_cdf((1 + level) / 2) * error
    return DeLong(
        *areas,
        difference,
        error,
        difference - half,
        difference + half,
        z,
        math.erfc(abs(z) / math.sqrt(2)),
        level,
        None,
    )


def midranks(values: Doubles) -> Doubles:
    """Return ranks from 1 in ascending order; equal values share the mean of their ranks."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[group], dtype=np.float64)


def _placements(positive: npt.NDArray[np.bool_], scores: Doubles) -> _Placements:
    """A row's midrank among all less that within its class: the rows of the other below it."""
    ranks = midranks(scores)
    above = 2 * (ranks[positive] - midranks(scores[positive]))
    below = 2 * (ranks[~positive] - midranks(scores[~positive]))
    return _Placements(above, 2 * int(positive.sum()) - below)


def _variance(placements: _Placements, m: int, n: int) -> float:
    """Sum the variances of both means, each placement a share of the other class."""
    by_positive = float(placements.positives.var(ddof=1)) / (2 * n) ** 2 / m
    by_negative = float(placements.negatives.var(ddof=1)) / (2 * m) ** 2 / n
    return by_positive + by_negative


def _classes(truth: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    array = np.asarray(truth)
    if array.ndim != 1 or not np.isin(array, (0, 1)).all():
        raise ValueError("the truth is one column of 0 and 1")
    return array.astype(np.bool_)


def _scores(values: npt.ArrayLike, positive: npt.NDArray[np.bool_]) -> Doubles:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != positive.shape:
        raise ValueError(f"{array.shape} scores for a truth of {positive.shape}")
    if not np.isfinite(array).all():
        raise ValueError("a score is not finite")
    return array
