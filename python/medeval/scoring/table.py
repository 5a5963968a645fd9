"""Item scores to values with intervals: one table and one rule for every task and judge.

A share, the mean of scores that lie between 0 and 1 by their nature and are all 0 or 1 here, has
Wilson's interval (Wilson 1927, JASA 22:209-212), which is never without width. All else has the
percentile interval of a bootstrap over items (Efron 1979). What makes an interval is the scores,
the seed and the number of resamples alone: neither the task nor the order of the items.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from medeval.models.scores import DRAWS, LEVEL, Interval
from medeval.scoring.binary import ratio
from medeval.scoring.resample import TAILS, Counts, Floats, Integers, Statistic, draw_bins, score

WILSON = "wilson"
BOOTSTRAP = "bootstrap_percentile"
# Both ends of an interval, and how it was found.
Ends = tuple[float | None, float | None, str]
NO_ENDS: Ends = (None, None, "")
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


class Column(Statistic):
    """One metric of a table: a statistic of items that are in bins of equal records.

    The bins are in order, so that nothing depends on the order of the items.

    Attributes:
        item_scores: one an item, None where it has none; all None for a metric of the whole table.
        rows: how many items count.
        n_undefined: how many do not.
        reason: why; None if all count.
        is_share: whether the value is a share: each item is right or wrong.
        coverage: the share of what is expected that a metric of known words can read.
    """

    names = ("value",)
    why = ("undefined",)

    def __init__(self, records: Sequence[Any], reason: str | None) -> None:
        """Take one record an item, None for one that does not count."""
        counts = Counter(record for record in records if record is not None)
        self.bins = sorted(counts)
        self.n_bins = len(self.bins)
        self.rows = counts.total()
        self.sizes = [counts[one] for one in self.bins]
        self.labels = np.repeat(np.arange(self.n_bins), self.sizes)
        self.n_undefined = len(records) - self.rows
        self.reason = (reason if self.n_undefined else None) if len(records) else "no items"
        self.is_share = False
        self.item_scores: list[float | None] = [None] * len(records)
        self.coverage: float | None = None

    @abstractmethod
    def value(self) -> float | None:
        """Return the metric on the data; None where it is undefined."""


class Ratio(Column):
    """A sum of numerators over a sum of denominators: means, shares, rates and micro F1."""

    def __init__(
        self,
        numerators: Sequence[float | None],
        denominators: Sequence[float] | None = None,
        *,
        is_share: bool = False,
        reason: str | None = None,
        empty: float | None = None,
    ) -> None:
        """Take one number an item.

        Args:
            numerators: None where the item has no score.
            denominators: 0 where the item has no score; by default 1 each, for a mean.
            is_share: whether scores lie between 0 and 1 by their nature.
            reason: why items have no score.
            empty: the value of items whose denominators sum to 0, each of which counts then; None
                leaves such items out.
        """
        below = [1.0] * len(numerators) if denominators is None else denominators
        pairs = [
            None if top is None or (not bottom and empty is None) else (float(top), float(bottom))
            for top, bottom in zip(numerators, below, strict=True)
        ]
        super().__init__(pairs, reason)
        self._empty = math.nan if empty is None else empty
        self._table = np.array(self.bins, dtype=np.float64).reshape(-1, 2)
        self.is_share = is_share and all(pair in ((0, 1), (1, 1)) for pair in self.bins)
        self.item_scores = [
            None if pair is None or not pair[1] else pair[0] / pair[1] for pair in pairs
        ]

    def value(self) -> float | None:
        """See `Column.value`."""
        if not self.rows:
            return None
        top, bottom = (math.fsum(np.repeat(column, self.sizes)) for column in self._table.T)
        return top / bottom if bottom else self._empty

    def from_bins(self, counts: Counts) -> Floats:
        """See `Statistic.from_bins`."""
        sums = counts @ self._table
        return np.nan_to_num(ratio(sums[:, :1], sums[:, 1:]), nan=self._empty)


class Pooled(Column):
    """A metric that one value is made of from the records of all items, such as macro F1."""

    def __init__(
        self,
        records: Sequence[Hashable | None],
        pool: Callable[[Mapping[Any, int]], float | None],
        reason: str | None = None,
    ) -> None:
        """Take what each item contributes, None for nothing; `pool` takes counts of records."""
        super().__init__(records, reason)
        self.records, self.pool = records, pool

    def value(self) -> float | None:
        """See `Column.value`."""
        return self.pool(dict(zip(self.bins, self.sizes, strict=True))) if self.rows else None

    def from_bins(self, counts: Counts) -> Floats:
        """See `Statistic.from_bins`."""
        drawn = [
            self.pool({self.bins[place]: int(row[place]) for place in np.flatnonzero(row)})
            for row in counts
        ]
        return np.array(drawn, dtype=np.float64)[:, None]


@dataclass(frozen=True)
class ScoreTable:
    """The scores of samples by metric.

    Attributes:
        columns: metric to its column; all have the same samples in the same order.
    """

    columns: Mapping[str, Column]

    def summary(self, *, draws: int = DRAWS, seed: int = 0) -> dict[str, Interval]:
        """Return each metric's value with its interval.

        Args:
            draws: resamples; 0 gives values only.
            seed: of the resamples.
        """
        return {
            name: interval(column, draws=draws, seed=seed) for name, column in self.columns.items()
        }


def result_fields(table: ScoreTable, found: Mapping[str, Interval]) -> dict[str, Any]:
    """Return what an `EvaluationResult` keeps of a table: values, item scores and intervals."""
    scores = {name: list(column.item_scores) for name, column in table.columns.items()}
    return {
        "metrics_results": {
            name: one.value for name, one in found.items() if one.value is not None
        },
        "item_scores": {
            name: items for name, items in scores.items() if any(one is not None for one in items)
        },
        "intervals": {name: one for name, one in found.items() if one.low is not None},
    }


def interval(column: Column, *, draws: int = DRAWS, seed: int = 0) -> Interval:
    """Return the value of one metric with its interval; see `ScoreTable.summary`."""
    value, (low, high, method) = column.value(), NO_ENDS
    if value is not None and draws and column.is_share:
        low, high, method = *wilson(value, column.rows), WILSON
    elif value is not None and draws and column.rows > 1:
        low, high, method = percentiles(samples(column, draws, seed))
    return Interval(
        value=value, low=low, high=high, level=LEVEL, method=method,
        n=column.rows, n_undefined=column.n_undefined, reason=column.reason,
    )  # fmt: skip


def samples(column: Column, draws: int, seed: int) -> Floats:
    """Return the values of resamples of the items, n out of n, shape (draws,); NaN is undefined."""
    return score(column, draws, seed, replay=False).samples[:, 0]


def row_interval(
    statistic: Callable[[Floats], float | None], rows: Floats, reason: str, seed: int
) -> Interval:
    """Return a statistic of whole rows with its interval; see `sampled_interval`.

    Args:
        statistic: takes rows, returns None where it has no meaning.
        rows: shape (items, columns); NaN is a gap.
        reason: what to say if there is no value.
        seed: of the resamples.
    """
    value, drawn = statistic(rows) if len(rows) else None, np.empty(0)
    if value is not None:
        distinct, weights = row_weights(rows, seed)
        values = [statistic(np.repeat(distinct, weight, axis=0)) for weight in weights[1:]]
        drawn = np.array(values, dtype=np.float64)
    return sampled_interval(value, drawn, len(rows), reason)


def sampled_interval(value: float | None, drawn: Floats, n: int, reason: str) -> Interval:
    """Return a value with the interval of its resamples; NaN ones are left out and counted."""
    about: dict[str, Any] = {"n": n, "reason": reason}
    if value is not None:
        about = {"n": n, "n_undefined": int(np.isnan(drawn).sum())}
    low, high, method = NO_ENDS if value is None else percentiles(drawn)
    return Interval(value=value, low=low, high=high, level=LEVEL, method=method, **about)


def row_weights(rows: Floats, seed: int) -> tuple[Floats, Counts]:
    """Return the distinct rows in order, and how often each counts.

    Returns:
        The rows, and weights of shape (1 + `DRAWS`, distinct rows): in the data, then as drawn.
    """
    distinct, sizes = distinct_rows(rows)
    return distinct, np.vstack([sizes, draw_bins(seed, sizes)(DRAWS)])


def distinct_rows(rows: Floats) -> tuple[Floats, Integers]:
    """Return the distinct rows in order, NaN taken as a value of its own, and how many of each."""
    filled = np.where(np.isnan(rows), -np.inf, rows)
    distinct, sizes = np.unique(filled, axis=0, return_counts=True)
    return np.where(np.isinf(distinct), np.nan, distinct), sizes


def percentiles(drawn: Floats) -> Ends:
    """Return the ends of the percentile interval of resamples, those that are NaN left out."""
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return NO_ENDS
    low, high = np.quantile(defined, TAILS)
    return float(low), float(high), BOOTSTRAP


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return both ends of Wilson's interval of a share of n items."""
    scale = 1 + Z * Z / n
    middle = (share + Z * Z / (2 * n)) / scale
    half = Z * math.sqrt(share * (1 - share) / n + (Z / (2 * n)) ** 2) / scale
    # Rounding must not take the share itself out of its interval.
    return min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share)
