"""One value with an interval from many items; undefined items are counted, never taken as 0."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from medeval.metrics.item import Item
from medeval.metrics.metric import Metric, Pool
from medeval.models.scores import Interval

if TYPE_CHECKING:
    from numpy.random import Generator

DRAWS = 1000
LEVEL = 0.95
# Draws made at a time, so that memory does not grow with their number.
_DRAWS_AT_ONCE = 50


@dataclass(frozen=True)
class Aggregate:
    """The value of a metric over items.

    Attributes:
        value: None where no item has a score.
        n: how many items have one.
        n_undefined: how many have none, and are left out.
        interval: None without a value, and where a bootstrap has fewer than two items.
        item_scores: aligned with the items; all None for a metric of the whole task.
        reason: why items have no score; None if all have.
    """

    value: float | None
    n: int
    n_undefined: int
    interval: Interval | None
    item_scores: tuple[float | None, ...]
    reason: str | None


def aggregate(
    metric: Metric,
    items: Sequence[Item],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> Aggregate:
    """Score items and pool the scores; the order of the items does not matter.

    Args:
        metric: what to score.
        items: the items of a task with the model's outputs.
        draws: resamples of the bootstrap.
        seed: of the bootstrap's generator.
        level: confidence of the interval.
    """
    records = [metric.record(item) for item in items]
    counts = Counter(record for record in records if record is not None)
    n = counts.total()
    # Sorted, so that sums and draws do not depend on the order of the items.
    ordered = {record: counts[record] for record in sorted(counts)}
    pool = metric.pool or _mean
    value = pool(ordered) if ordered else None
    interval: Interval | None = None
    if value is not None and metric.binary:
        interval = wilson(value, n, level)
    elif value is not None and n > 1:
        interval = _bootstrap(ordered, metric.pool, draws, seed, level)
    scores = tuple(None if metric.pool else record for record in records)
    undefined = len(records) - n
    reason = metric.undefined if undefined else None
    return Aggregate(value, n, undefined, interval, scores, reason if records else "no items")


def aggregate_scores(
    scores: Sequence[float | None],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
    reason: str | None = None,
) -> Aggregate:
    """Return the mean of item scores with its bootstrap interval; undefined ones are left out.

    Args:
        scores: one an item, None where it is undefined.
        draws: resamples of the bootstrap.
        seed: of the bootstrap's generator.
        level: confidence of the interval.
        reason: why scores are undefined.
    """
    counts = Counter(score for score in scores if score is not None)
    n = counts.total()
    ordered = {score: counts[score] for score in sorted(counts)}
    value = _mean(ordered) if ordered else None
    interval = _bootstrap(ordered, None, draws, seed, level) if n > 1 else None
    undefined = len(scores) - n
    return Aggregate(value, n, undefined, interval, tuple(scores), reason if undefined else None)


def wilson(proportion: float, n: int, level: float = LEVEL) -> Interval:
    """Return Wilson's interval of a proportion of n items (Wilson 1927, JASA 22:209-212)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    scale = 1 + z * z / n
    middle = (proportion + z * z / (2 * n)) / scale
    half = z * math.sqrt(proportion * (1 - proportion) / n + (z / (2 * n)) ** 2) / scale
    # Rounding must not take the proportion itself out of its interval.
    low, high = min(max(middle - half, 0.0), proportion), max(min(middle + half, 1.0), proportion)
    return Interval(low=low, high=high, level=level, method="wilson", n=n)


def _mean(counts: Mapping[Any, int]) -> float:
    total = math.fsum(score * times for score, times in counts.items())
    return float(total / sum(counts.values()))


def _bootstrap(
    counts: Mapping[Any, int], pool: Pool | None, draws: int, seed: int, level: float
) -> Interval | None:
    """Return the percentile interval over resamples of the items, n out of n.

    Equal records are drawn together: how often each occurs among n draws is multinomial.
    """
    import numpy as np

    n = sum(counts.values())
    generator = np.random.default_rng(seed)
    values: list[float] = []
    while draws > 0:
        part = min(draws, _DRAWS_AT_ONCE)
        values += _resampled(counts, pool, part, generator)
        draws -= part
    if not values:
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(low=low, high=high, level=level, method="bootstrap_percentile", n=n)


def _resampled(
    counts: Mapping[Any, int], pool: Pool | None, draws: int, generator: Generator
) -> list[float]:
    """Return the values of resamples; those in which the metric is undefined are left out."""
    import numpy as np

    times = np.array(list(counts.values()), dtype=np.int64)
    n = int(times.sum())
    drawn = generator.multinomial(n, times / n, size=draws)
    if pool is None:
        means = drawn @ np.array(list(counts), dtype=np.float64) / n
        return [float(mean) for mean in means]
    resamples = (
        {record: int(often) for record, often in zip(counts, one, strict=True) if often}
        for one in drawn
    )
    return [value for value in map(pool, resamples) if value is not None]
