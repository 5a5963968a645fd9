"""Metrics on the data and on resamples of them (Efron 1979), and their 95 % intervals.

Rows that no metric can tell apart share a bin, so a resample is a few counts rather than many rows,
and nothing is sorted again. Resamples are plain rows, whole clusters, or bins of like rows.

mimic3-benchmarks draws its resamples through `sklearn.utils.resample` from numpy's global legacy
generator: iteration i uses the i-th block of n numbers of `RandomState(seed).randint(0, n)`. That
stream is made of 32-bit words of MT19937, masked with the smallest 2^b - 1 that covers n - 1; words
above n - 1 are rejected. No state is kept between calls, so any number of blocks may be drawn at
once. `draw_rows` and `draw_clusters` replay it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.integer[Any]]
Counts = NDArray[np.integer[Any]]
Advance = Callable[[int], object]
# From a number of resamples to counts of shape (resamples, bins); each call draws the next ones.
Draw = Callable[[int], Counts]

# Above this share of accepted words the generator's own loop beats masking whole arrays.
MANY_ACCEPTED = 0.95
# Words drawn at a time: arrays of this size stay in the cache, and their memory is used again.
WORDS_AT_ONCE = 1 << 16
# Numbers per batch: few enough to stay in the processor's cache, enough to hide numpy's calls.
BATCH_NUMBERS = 1 << 19
MOST_AT_ONCE = 64
# Up to so many rows or clusters are left out one by one for the acceleration of BCa intervals.
MOST_PARTS = 2_000
PARTS_SEED = 0
TAILS = (0.025, 0.975)
NORMAL = NormalDist()


def draw_rows(seed: int, rows: int, labels: Labels | None = None, n_bins: int = 0) -> Draw:
    """Return what draws rows: n out of n, with replacement.

    Args:
        seed: of `numpy.random.RandomState`.
        rows: n.
        labels: bin of each row, shape (n,); None counts each row for itself.
        n_bins: how many bins there are.
    """
    random = np.random.RandomState(seed)
    bins = rows if labels is None else n_bins
    mask = np.uint32((1 << (rows - 1).bit_length()) - 1)
    accepted = rows / (int(mask) + 1)
    ahead: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)

    def positions(most: int) -> Labels:
        nonlocal ahead
        if accepted >= MANY_ACCEPTED:
            return random.randint(0, rows, size=min(most, WORDS_AT_ONCE))
        if not len(ahead):
            size = min(int(most / accepted) + 64, WORDS_AT_ONCE)
            words = random.randint(0, 1 << 32, size=size, dtype=np.uint32)
            words &= mask
            ahead = np.compress(words < rows, words)
        part, ahead = ahead[:most], ahead[most:]
        return part

    def draw(iterations: int) -> Counts:
        drawn: Integers = np.empty((iterations, rows), dtype=np.int64)
        flat, filled = drawn.reshape(-1), 0
        while filled < len(flat):
            part = positions(len(flat) - filled)
            flat[filled : filled + len(part)] = part
            filled += len(part)
        if labels is not None:
            # The positions are in range; `wrap` spares the copy that a check needs.
            drawn[:] = np.take(labels, drawn, mode="wrap")
        if iterations > 1:
            drawn += np.arange(iterations)[:, None] * bins
        return np.bincount(drawn.ravel(), minlength=iterations * bins).reshape(iterations, bins)

    return draw


def draw_clusters(seed: int, clusters: Integers, labels: Labels | None, n_bins: int) -> Draw:
    """Return what draws whole clusters: as many as there are, from the stream of `draw_rows`.

    A row counts as often as its cluster was drawn. Clusters are numbered in the order of their
    ids, so the order of the rows does not matter.
    """
    ids, cluster_of_row = np.unique(clusters, return_inverse=True)
    draw_ids = draw_rows(seed, len(ids))

    def draw(iterations: int) -> Counts:
        weights = draw_ids(iterations)[:, cluster_of_row]
        if labels is None:
            return weights
        counted = [np.bincount(labels, one, n_bins) for one in weights]  # exact below 2^53
        return np.array(counted, dtype=np.int64)

    return draw


def draw_bins(seed: int | Sequence[int], sizes: Integers) -> Draw:
    """Return what draws rows in bins of like ones: how often each occurs is multinomial."""
    random, rows = np.random.default_rng(seed), int(sizes.sum())
    return lambda iterations: random.multinomial(rows, sizes / rows, size=iterations)


class Statistic(ABC):
    """Some metrics as a function of how often each kind of row occurs.

    Attributes:
        names: keys of the m metrics.
        why: for each metric, why it has no meaning where it has none.
        rows: number of rows, n.
        labels: bin of each row, shape (n,); None where each row is a bin.
        n_bins: number of bins; n without labels.
    """

    names: tuple[str, ...]
    why: tuple[str, ...]
    rows: int
    labels: Labels | None = None
    n_bins: int

    @abstractmethod
    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, m), of counts of shape (batch, n_bins)."""

    def all_rows(self) -> Integers:
        """Return the counts of the data themselves, shape (1, n_bins)."""
        if self.labels is None:
            return np.ones((1, self.rows), dtype=np.int64)
        return np.bincount(self.labels, minlength=self.n_bins)[None, :]


@dataclass(frozen=True)
class Scores:
    """Some metrics on the data and on every resample.

    Attributes:
        names: keys of the m metrics, in order.
        values: point estimates, shape (m,); NaN is undefined.
        samples: values of the resamples, shape (n_iters, m); NaN is undefined in that resample.
        reasons: why a point estimate is undefined; None where it is defined.
    """

    names: tuple[str, ...]
    values: Floats
    samples: Floats
    reasons: tuple[str | None, ...]


def score(
    statistic: Statistic,
    n_iters: int = 0,
    seed: int = 0,
    clusters: Integers | None = None,
    *,
    replay: bool = True,
    progress: Advance = lambda resamples: None,
) -> Scores:
    """Return the metrics on the data and on every resample.

    Args:
        statistic: the metrics of the data.
        n_iters: number of resamples; 0 gives point values only.
        seed: of `numpy.random.RandomState`, 0 to 2^32 - 1.
        clusters: cluster id of each row, shape (n,): whole clusters are resampled; None resamples
            rows.
        replay: draw the rows that numpy's legacy generator draws, as mimic3-benchmarks does; else
            bins of like rows are drawn at once, whatever the order of the rows.
        progress: called with the number of resamples done since the last call.
    """
    names, labels, n_bins = statistic.names, statistic.labels, statistic.n_bins
    samples = np.full((n_iters, len(names)), np.nan)
    if not statistic.rows:
        return Scores(names, np.full(len(names), np.nan), samples, ("no rows",) * len(names))
    if clusters is not None and len(clusters) != statistic.rows:
        raise ValueError(f"{len(clusters)} cluster ids for {statistic.rows} rows")
    everything = statistic.all_rows()
    values = statistic.from_bins(everything)[0]
    if not replay:
        draw = draw_bins(seed, everything[0])
    elif clusters is not None:
        draw = draw_clusters(seed, clusters, labels, n_bins)
    else:
        draw = draw_rows(seed, statistic.rows, labels, n_bins)
    # Memory does not grow with the number of resamples.
    size = min(max(1, BATCH_NUMBERS // max(statistic.rows, n_bins)), MOST_AT_ONCE)
    for start in range(0, n_iters, size):
        part = samples[start : start + size]
        part[:] = statistic.from_bins(draw(len(part)))
        progress(len(part))
    is_defined = np.isfinite(values)
    reasons = [None if one else why for one, why in zip(is_defined, statistic.why, strict=True)]
    return Scores(names, values, samples, tuple(reasons))


def jackknife(statistic: Statistic, clusters: Integers | None = None) -> Floats:
    """Return the metrics without each part of the data, shape (parts, m), for BCa intervals.

    Leaving out every single row costs n evaluations, too many for hundreds of thousands of rows.
    Above `MOST_PARTS` rows (or clusters, where clusters are resampled) they are dealt at random,
    seeded, into that many parts, and whole parts are left out (delete-d jackknife, Shao and Wu
    1989). The acceleration is a third moment over the power 3/2 of a second one of the rows'
    influences; sums of independent influences over parts estimate the same two moments, with a
    standard error near 0.4 / parts.

    Args:
        statistic: the metrics of the data.
        clusters: cluster id of each row, shape (n,); None where rows are resampled.
    """
    if not statistic.rows:
        return np.empty((0, len(statistic.names)))
    every_row = np.arange(statistic.rows)
    part = every_row if clusters is None else np.unique(clusters, return_inverse=True)[1]
    n_parts, n_bins = int(part.max()) + 1, statistic.n_bins
    if n_parts > MOST_PARTS:
        part = (np.random.default_rng(PARTS_SEED).permutation(n_parts) % MOST_PARTS)[part]
        n_parts = MOST_PARTS
    labels = every_row if statistic.labels is None else statistic.labels
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(n_parts + 1))
    everything = statistic.all_rows()
    size = max(1, BATCH_NUMBERS // n_bins)
    values = np.empty((n_parts, len(statistic.names)))
    for first in range(0, n_parts, size):
        last = min(first + size, n_parts)
        rows = order[bounds[first] : bounds[last]]
        bins = (part[rows] - first) * n_bins + labels[rows]
        left_out = np.bincount(bins, minlength=(last - first) * n_bins)
        values[first:last] = statistic.from_bins(everything - left_out.reshape(-1, n_bins))
    return values


@dataclass(frozen=True)
class MetricSummary:
    """One metric over all resamples; NaN where there is nothing to say.

    Attributes:
        value: on the data itself.
        mean: of the resamples, as are the next three.
        median: the middle one.
        std: standard deviation with divisor n.
        low: lower end of the 95 % interval.
        high: upper end of the interval.
        n_undefined: resamples in which the metric is undefined.
        reason: why `value` is undefined; None where it is defined.
    """

    value: float
    mean: float
    median: float
    std: float
    low: float
    high: float
    n_undefined: int
    reason: str | None = None


def summarise(
    scores: Scores, *, strict_nan: bool = False, jackknife: Floats | None = None
) -> dict[str, MetricSummary]:
    """Summarise every metric, in the order of the scores.

    Args:
        scores: point values and resamples.
        strict_nan: one undefined resample leaves every statistic undefined, as in mimic3-benchmarks
            with scikit-learn 1.6 and later; else undefined resamples are left out and counted.
        jackknife: metrics without each part of the data, shape (parts, m), for intervals whose ends
            are moved by the resamples' bias and skewness (bias-corrected and accelerated; Efron
            1987, JASA 82:171-185). Without it they are the 2.5 % and 97.5 % percentiles of the
            resamples (linear interpolation, as mimic3-benchmarks does).
    """
    found = {}
    for place, name in enumerate(scores.names):
        samples = scores.samples[:, place]
        defined = samples[~np.isnan(samples)]
        n_undefined = len(samples) - len(defined)
        value = float(scores.values[place])
        mean = median = std = low = high = math.nan
        if len(defined) and not (strict_nan and n_undefined):
            mean, median, std = map(float, (defined.mean(), np.median(defined), defined.std()))
            tails: tuple[float, ...] | None = TAILS
            if jackknife is not None:
                tails = bca_tails(value, defined, jackknife[:, place])
            if tails is not None:
                low, high = map(float, np.quantile(defined, tails))
        reason = scores.reasons[place]
        found[name] = MetricSummary(value, mean, median, std, low, high, n_undefined, reason)
    return found


def bca_tails(value: float, samples: Floats, without: Floats) -> tuple[float, ...] | None:
    """Return which shares of the resamples lie below the ends of the BCa interval.

    None where it does not exist: the value is undefined, or all resamples lie on one side of it.
    The acceleration is a sixth of the skewness of the influences of the parts, over n^0.5 (Efron
    and Tibshirani 1993, An Introduction to the Bootstrap, equation 14.15).

    Args:
        value: the metric on the data.
        samples: on the resamples, all defined.
        without: on the data without each part; undefined ones are left out.
    """
    below = (np.mean(samples < value) + np.mean(samples <= value)) / 2
    if math.isnan(value) or not 0 < below < 1:
        return None
    bias = NORMAL.inv_cdf(float(below))
    defined = without[~np.isnan(without)]
    influence = defined.mean() - defined if len(defined) else np.zeros(1)
    spread = float((influence**2).sum())
    acceleration = float((influence**3).sum()) / (6 * spread**1.5) if spread else 0.0
    shifted = [bias + NORMAL.inv_cdf(tail) for tail in TAILS]
    return tuple(NORMAL.cdf(bias + one / (1 - acceleration * one)) for one in shifted)
