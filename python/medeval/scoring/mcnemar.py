"""McNemar's test of two sets of right and wrong answers to the same questions.

Source: Q. McNemar, Note on the sampling error of the difference between correlated proportions or
percentages, Psychometrika 12 (1947) 153-157; here in its exact form, the two-sided binomial test
on the discordant answers. The mid-p variant counts half of the observed outcome's probability
(M. W. Fagerland, S. Lydersen and P. Laake, BMC Medical Research Methodology 13 (2013) 91).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


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

    @property
    def discordant(self) -> int:
        """Return how many questions exactly one of the two answered right."""
        return self.only_first + self.only_second

    @property
    def asked(self) -> int:
        """Return how many questions there were."""
        return self.both_right + self.discordant + self.both_wrong


def mcnemar(first: npt.ArrayLike, second: npt.ArrayLike, *, mid_p: bool = False) -> McNemar:
    """Test whether two are right equally often.

    Args:
        first: for each question, whether the first answered right.
        second: the same for the second.
        mid_p: less conservative than the exact test, which never errs more often than it says.

    Raises:
        ValueError: the shapes differ, or a value is neither true nor false.
    """
    a, b = _flags(first), _flags(second)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"answers to the same questions are needed, not {a.shape} and {b.shape}")
    only_first = int((a & ~b).sum())
    only_second = int((b & ~a).sum())
    return McNemar(
        int((a & b).sum()),
        only_first,
        only_second,
        int((~a & ~b).sum()),
        exact_p(only_first, only_second, mid_p=mid_p),
        mid_p,
    )


def exact_p(only_first: int, only_second: int, *, mid_p: bool = False) -> float:
    """Return the two-sided binomial p value of the discordant counts; 1 if both are zero.

    Raises:
        ValueError: a negative count.
    """
    if min(only_first, only_second) < 0:
        raise ValueError("a count is not below zero")
    total = only_first + only_second
    if not total:
        return 1.0
    from scipy.stats import binom  # type: ignore[import-untyped]  # slow to load

    least = min(only_first, only_second)
    doubled = 2 * binom.cdf(least, total, 0.5)
    return min(1.0, float(doubled - binom.pmf(least, total, 0.5) if mid_p else doubled))


def _flags(values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    array = np.asarray(values)
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise ValueError("an answer is right (true, 1) or wrong (false, 0)")
    return array.astype(np.bool_)
