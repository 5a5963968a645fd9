"""Metrics on the data and on resamples of them (Efron 1979), and their 95 % intervals.

Rows that no metric can tell apart share a bin, so a resample is a few counts rather than many rows,
and nothing is sorted again. Resamples are plain rows, whole clusters, or bins of like rows.

mimic3-benchmarks draws its resamples through `sklearn.utils.resample` from numpy's global legacy
generator: iteration i uses the i-th block of n numbers of `RandomState(seed).randint(0, n)`. That
stream is made of 32-bit words of MT19937, masked with the smallest 2^b - 1 that covers n - 1; words
above n - 1 are rejected. No state is kept between calls, so any number of blocks may be drawn at
once. `RowResamples` and `ClusterResamples` replay it.
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

# Above it, the generator's own loop guesses its branches right and beats masking whole arrays.
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


class RowResamples:
    """Single rows are drawn: n out of n, with replacement."""

    def __init__(self, seed: int, rows: int) -> None:
        self._random = np.random.RandomState(seed)
        self._rows = rows
        self._mask = np.uint32((1 << (rows - 1).bit_length()) - 1)
        self._accepted = rows / (int(self._mask) + 1)
        self._ahead: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)

    def counts(self, iterations: int, labels: Labels | None, n_bins: int) -> Counts:
        """Count the rows of the next resamples by their label.

        Args:
            iterations: how many resamples.
            labels: bin of each row, shape (n,); None counts each row for itself.
            n_bins: how many bins there are; n without labels.

        Returns:
            shape (iterations, n_bins).
        """
        drawn: Integers = np.empty(iterations * self._rows, dtype=np.int64)
        filled = 0
        while wanted := len(drawn) - filled:
            if self._accepted >= MANY_ACCEPTED:
                part: Labels = self._random.randint(0, self._rows, size=min(wanted, WORDS_AT_ONCE))
            else:
                if not len(self._ahead):
                    size = min(int(wanted / self._accepted) + 64, WORDS_AT_ONCE)
                    words = self._random.randint(0, 1 << 32, size=size, dtype=np.uint32)
                    words &= self._mask
                    self._ahead = np.compress(words < self._rows, words)
                part, self._ahead = self._ahead[:wanted], self._ahead[wanted:]
            drawn[filled : filled + len(part)] = part
            filled += len(part)
        if labels is not None:
            # The positions are in range; `wrap` spares the copy that a check needs.
            drawn[:] = np.take(labels, drawn, mode="wrap")
        if iterations > 1:
            drawn.reshape(iterations, self._rows)[:] += np.arange(iterations)[:, None] * n_bins
        counted = np.bincount(drawn, minlength=iterations * n_bins)
        return counted.reshape(iterations, n_bins)


class ClusterResamples:
    """Whole clusters are drawn: as many as there are, with replacement, from the same stream.

    A row counts as often as its cluster was drawn. Clusters are numbered in the order of their
    ids, so the order of the rows does not matter.
    """

    def __init__(self, seed: int, clusters: Integers) -> None:
        ids, self._cluster_of_row = np.unique(clusters, return_inverse=True)
        self._n_clusters = len(ids)
        self._clusters = RowResamples(seed, self._n_clusters)

    def counts(self, iterations: int, labels: Labels | None, n_bins: int) -> Counts:
        """See `RowResamples.counts`."""
        drawn = self._clusters.counts(iterations, None, self._n_clusters)
        weights = np.take(drawn, self._cluster_of_row, axis=1)
        if labels is None:
            return weights
        counted = np.empty((iterations, n_bins), dtype=np.int64)
        for weight, row in zip(weights, counted, strict=True):
            row[:] = np.bincount(labels, weights=weight, minlength=n_bins)  # exact below 2^53
        return counted


class BinResamples:
    """Rows in bins of like ones: how often each bin occurs among n draws is multinomial."""

    def __init__(self, seed: int | Sequence[int], sizes: Integers) -> None:
        self._random = np.random.default_rng(seed)
        self._sizes = sizes

    def counts(self, iterations: int, labels: Labels | None, n_bins: int) -> Counts:
        """See `RowResamples.counts`."""
        rows = int(self._sizes.sum())
        return self._random.multinomial(rows, self._sizes / rows, size=iterations)


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
    shape = (n_iters, len(statistic.names))
    if not statistic.rows:
        none = np.full(shape[1], np.nan)
        return Scores(statistic.names, none, np.full(shape, np.nan), ("no rows",) * shape[1])
    if clusters is not None and len(clusters) != statistic.rows:
        raise ValueError(f"{len(clusters)} cluster ids for {statistic.rows} rows")
    everything = statistic.all_rows()
    values = statistic.from_bins(everything)[0]
    samples = np.empty(shape)
    resamples: BinResamples | ClusterResamples | RowResamples
    if not replay:
        resamples = BinResamples(seed, everything[0])
    elif clusters is not None:
        resamples = ClusterResamples(seed, clusters)
    else:
        resamples = RowResamples(seed, statistic.rows)
    # Memory does not grow with the number of resamples.
    most = max(1, BATCH_NUMBERS // max(statistic.rows, statistic.n_bins))
    size = min(most, MOST_AT_ONCE)
    for start in range(0, n_iters, size):
        part = samples[start : start + size]
        part[:] = statistic.from_bins(
            resamples.counts(len(part), statistic.labels, statistic.n_bins)
        )
        progress(len(part))
    is_defined = np.isfinite(values)
    reasons = [None if one else why for one, why in zip(is_defined, statistic.why, strict=True)]
    return Scores(statistic.names, values, samples, tuple(reasons))


def jackknife(
    statistic: Statistic, clusters: Integers | None = None, most_parts: int = MOST_PARTS
) -> Floats:
    """Return the metrics without each part of the data, shape (parts, m), for BCa intervals.

    Leaving out every single row costs n evaluations, too many for hundreds of thousands of rows.
    Above `most_parts` rows (or clusters, where clusters are resampled) they are dealt at random,
    seeded, into that many parts, and whole parts are left out (delete-d jackknife, Shao and Wu
    1989). The acceleration is a third moment over the power 3/2 of a second one of the rows'
    influences; sums of independent influences over parts estimate the same two moments, with a
    standard error near 0.4 / parts.

    Args:
        statistic: the metrics of the data.
        clusters: cluster id of each row, shape (n,); None where rows are resampled.
        most_parts: up to so many rows or clusters are left out one by one.
    """
    if not statistic.rows:
        return np.empty((0, len(statistic.names)))
    unit_of_row: Integers = np.arange(statistic.rows)
    if clusters is not None:
        unit_of_row = np.unique(clusters, return_inverse=True)[1]
    n_units = int(unit_of_row.max()) + 1
    dealt: Integers = np.arange(n_units)
    if n_units > most_parts:
        dealt = np.random.default_rng(PARTS_SEED).permutation(n_units) % most_parts
    part = dealt[unit_of_row]
    n_parts = int(part.max()) + 1
    labels = np.arange(statistic.rows) if statistic.labels is None else statistic.labels
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(n_parts + 1))
    everything = statistic.all_rows()
    size = max(1, BATCH_NUMBERS // statistic.n_bins)
    values = np.empty((n_parts, len(statistic.names)))
    for first in range(0, n_parts, size):
        last = min(first + size, n_parts)
        rows = order[bounds[first] : bounds[last]]
        bins = (part[rows] - first) * statistic.n_bins + labels[rows]
        left_out = np.bincount(bins, minlength=(last - first) * statistic.n_bins)
        counts = everything - left_out.reshape(last - first, statistic.n_bins)
        values[first:last] = statistic.from_bins(counts)
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
