"""Two runs by one metric on the same items: an interval of the difference, and a p value.

The interval is the percentile interval of paired resamples of the items. The p value is that of
approximate randomisation: how often a difference as large appears when the two scores of an item
are exchanged at random (Noreen 1989, Computer-Intensive Methods for Testing Hypotheses).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from medeval.scoring.resamples import RowResamples
from medeval.scoring.results import Floats

LEVEL = 0.95
BATCH = 256
# Equal in exact arithmetic, apart by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Difference:
    """Two runs by one metric, on the same items.

    Attributes:
        metric: its name.
        first: value of the first run.
        second: value of the second run.
        difference: first less second.
        low: lower end of the difference's interval.
        high: upper end.
        p_value: two-sided, by random exchanges of the runs' answers to an item.
        n: items that both have a score for.
    """

    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    n: int


def paired_difference(
    metric: str, first: npt.ArrayLike, second: npt.ArrayLike, n: int, *, draws: int, seed: int
) -> Difference:
    """Compare two ratios of sums over the same units.

    Args:
        metric: its name.
        first: numerator and denominator of each unit in the first run, shape (units, 2); the ratio
            is 0 where denominators sum to 0.
        second: the same of the second run.
        n: how many items there are in the units.
        draws: how many resamples, and how many random exchanges; 1 or more.
        seed: of both.
    """
    one, two = (np.asarray(rows, dtype=np.float64) for rows in (first, second))
    value, other = (float(_ratio(rows.sum(axis=0))) for rows in (one, two))
    difference = value - other
    resamples = RowResamples(seed, len(one))
    random = np.random.default_rng([seed, 1])
    between, reached = [], 0
    for start in range(0, draws, BATCH):
        size = min(BATCH, draws - start)
        weights = resamples.counts(size, None, len(one))
        between.append(_ratio(weights @ one) - _ratio(weights @ two))
        stay = random.integers(0, 2, size=(size, len(one)))
        mixed = _ratio(stay @ one + (1 - stay) @ two) - _ratio(stay @ two + (1 - stay) @ one)
        reached += int((np.abs(mixed) >= abs(difference) - ROUNDING).sum())
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.concatenate(between), [tail, 1 - tail])
    p_value = (1 + reached) / (1 + draws)
    return Difference(metric, value, other, difference, float(low), float(high), p_value, n)


def _ratio(sums: Floats) -> Floats:
    tops, bottoms = sums[..., 0], sums[..., 1]
    return np.divide(tops, bottoms, out=np.zeros_like(tops), where=bottoms != 0)
