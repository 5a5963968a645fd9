"""Tests of two systems on the same rows that need no resampling, and Holm's correction.

DeLong's variance of the area under the ROC curve, and the paired test of two areas: E. R. DeLong,
D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44 (1988) 837-845; by midranks in O(n log n):
X. Sun and W. Xu, IEEE Signal Processing Letters 21 (2014) 1389-1393. The placements are kept as
whole numbers (twice the count of rows that a row outranks, a tie being one) until the last
division, so that equal rankings give a variance of exactly zero.

McNemar's test of right and wrong answers: Psychometrika 12 (1947) 153-157; here in its exact form,
the two-sided binomial test on the discordant answers. The mid-p variant counts half of the observed
outcome's probability (M. W. Fagerland, S. Lydersen and P. Laake, BMC Medical Research Methodology
13 (2013) 91).

Both take rows as independent; where one patient has many rows, they are too sure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from medeval.scoring.resample import Floats

ONE_CLASS = "the truth has one class only"
ONE_ROW = "a class has one row only, so there is no variance"
NO_VARIANCE = "the estimated variance of the difference is zero although the areas differ"


@dataclass(frozen=True)
class DeLong:
    """The paired test of two areas.

    Attributes:
        first_value: the first area.
        second_value: the second area.
        difference: first minus second; None if they are undefined.
        standard_error: of the difference.
        low: lower end of the interval of the difference, the normal one.
        high: its upper end.
        z: difference by standard error; 0 if both are 0.
        p_value: two-sided, normal.
        level: coverage of the interval.
        reason: why something is None.
    """

    first_value: float | None = None
    second_value: float | None = None
    difference: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    z: float | None = None
    p_value: float | None = None
    level: float = 0.95
    reason: str | None = None


def delong_test(truth: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike) -> DeLong:
    """Test whether two scores of the same rows have the same area under the ROC curve.

    Args:
        truth: 0 or 1 (or false and true) for each row.
        first: the first score of each row, finite.
        second: the second score of each row, finite.
    """
    positive = np.asarray(truth, dtype=np.bool_)
    one, two = (np.asarray(scores, dtype=np.float64) for scores in (first, second))
    m, n = int(positive.sum()), int((~positive).sum())
    if m == 0 or n == 0:
        return DeLong(reason=ONE_CLASS)
    pairs = 2 * m * n
    (first_above, first_below), (second_above, second_below) = (
        _placements(positive, scores) for scores in (one, two)
    )
    areas = float(first_above.sum()) / pairs, float(second_above.sum()) / pairs
    above, below = first_above - second_above, first_below - second_below
    difference = float(above.sum()) / pairs
    if m == 1 or n == 1:
        return DeLong(*areas, difference, reason=ONE_ROW)
    # The variances of both means, each placement a share of the other class.
    variances = above.var(ddof=1) / (2 * n) ** 2 / m, below.var(ddof=1) / (2 * m) ** 2 / n
    error = math.sqrt(float(variances[0]) + float(variances[1]))
    if error == 0 and difference != 0:
        return DeLong(*areas, difference, error, reason=NO_VARIANCE)
    z = difference / error if error else 0.0
    half = NormalDist().inv_cdf((1 + DeLong.level) / 2) * error
    p_value = math.erfc(abs(z) / math.sqrt(2))
    return DeLong(*areas, difference, error, difference - half, difference + half, z, p_value)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return adjusted p values in the order given (S. Holm, Scand. J. Stat. 6 (1979) 65-70).

    It bounds the chance of even one false finding in the family, whatever the dependence between
    the tests. With m tests made, the i-th smallest p value (from 0) is multiplied by m - i; no
    adjusted value is below the one before it, and none is above 1.

    Args:
        p_values: None where no test was made; such a place stays None and does not count in m.
    """
    made = [(p, place) for place, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(sorted(made)):
        highest = max(highest, min(1.0, p * (len(made) - rank)))
        adjusted[place] = highest
    return adjusted


def _placements(positive: npt.NDArray[np.bool_], scores: Floats) -> tuple[Floats, Floats]:
    """Return for each positive twice the negatives below it, for each negative the positives above.

    A row's midrank among all less that within its class: the rows of the other below it.
    """
    from scipy.stats import rankdata  # type: ignore[import-untyped]  # slow to load

    ranks = rankdata(scores)
    above = 2 * (ranks[positive] - rankdata(scores[positive]))
    below = 2 * (ranks[~positive] - rankdata(scores[~positive]))
    return above, 2 * int(positive.sum()) - below


@dataclass(frozen=True)
class McNemar:
    """The test's result.

    Attributes:
        both_right: questions that both answered right.
        only_first: questions that only the first answered right.
        only_second: questions that only the second answered right.
        both_wrong: questions that both answered wrong.
        p_value: two-sided; 1 if no answer is discordant.
        mid_p: whether it is the mid-p value.
    """

    both_right: int
    only_first: int
    only_second: int
    both_wrong: int
    p_value: float
    mid_p: bool


def mcnemar(first: npt.ArrayLike, second: npt.ArrayLike, *, mid_p: bool = False) -> McNemar:
    """Test whether two are right equally often.

    Args:
        first: for each question, whether the first answered right.
        second: the same for the second.
        mid_p: less conservative than the exact test, which never errs more often than it says.
    """
    a, b = (np.asarray(right, dtype=np.bool_) for right in (first, second))
    both, only_first, only_second, neither = (
        int(found.sum()) for found in (a & b, a & ~b, b & ~a, ~a & ~b)
    )
    p_value = exact_p(only_first, only_second, mid_p=mid_p)
    return McNemar(both, only_first, only_second, neither, p_value, mid_p)


def exact_p(only_first: int, only_second: int, *, mid_p: bool = False) -> float:
    """Return the two-sided binomial p value of the discordant counts; 1 if both are zero."""
    total = only_first + only_second
    if not total:
        return 1.0
    from scipy.stats import binom  # slow to load

    least = min(only_first, only_second)
    doubled = 2 * binom.cdf(least, total, 0.5)
    return min(1.0, float(doubled - binom.pmf(least, total, 0.5) if mid_p else doubled))
