"""Is a difference between two groups of patients more than chance?

The test permutes the patients' groups within each pathology (a permutation test, Fisher 1935, with
strata): pathologies differ in how hard they are and in who has them, and that is no gap of the
model. A share of the difference is therefore expected, and what lies beyond it is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medeval.scoring.resample import Floats

N_PERMUTATIONS = 9999
# Permuted places at a time.
BATCH_NUMBERS = 1 << 20
# Equal in exact arithmetic, apart by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Gap:
    """The difference of one score between two groups.

    Attributes:
        score: the score, a failed case counting zero.
        first: one group.
        second: the other.
        gap: mean of the first less mean of the second.
        expected_gap: what their shares of the pathologies alone would make.
        p_value: two-sided, by permutation; None where there is nothing to permute.
        p_holm: corrected for all tests of the report.
    """

    score: str
    first: str
    second: str
    gap: float
    expected_gap: float
    p_value: float | None
    p_holm: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the values by name."""
        return dict(vars(self))


def gap_tests(
    values: Floats, is_first: NDArray[np.bool_], strata: Sequence[str], *, seed: int, n: int
) -> tuple[Floats, Floats, list[float | None]]:
    """Return the gaps of scores between two groups, the expected gaps, and their p values.

    Args:
        values: scores, shape (cases, scores).
        is_first: whether a case is of the first group, else of the second; neither is empty.
        strata: the pathology of each case.
        seed: of the permutations.
        n: how many permutations.
    """
    names = np.array(strata)
    order = np.argsort(names, kind="stable")
    values, is_first, names = values[order], is_first[order], names[order]
    slices = [
        slice(int(np.searchsorted(names, name)), int(np.searchsorted(names, name, "right")))
        for name in np.unique(names)
    ]
    weights = _weights(is_first)
    gap = values[is_first].mean(axis=0) - values[~is_first].mean(axis=0)
    even = np.empty_like(weights)
    for part in slices:
        even[part] = weights[part].mean()
    expected = even @ values
    mixed = any(0 < is_first[part].sum() < len(is_first[part]) for part in slices)
    if not mixed:
        return gap, expected, [None] * values.shape[1]
    reached = np.zeros(values.shape[1], dtype=np.int64)
    beyond = np.abs(gap - expected) - ROUNDING
    random = np.random.default_rng([seed, len(values)])
    size = max(1, BATCH_NUMBERS // len(values))
    for start in range(0, n, size):
        batch = min(size, n - start)
        permuted = np.tile(weights, (batch, 1))
        for part in slices:
            permuted[:, part] = random.permuted(permuted[:, part], axis=1)
        reached += (np.abs(permuted @ values - expected) >= beyond).sum(axis=0)
    return gap, expected, [float((1 + count) / (1 + n)) for count in reached]


def _weights(is_first: NDArray[np.bool_]) -> Floats:
    """Return weights whose sum over values is the difference of the two means."""
    n_first = int(is_first.sum())
    return np.where(is_first, 1 / n_first, -1 / (len(is_first) - n_first))
