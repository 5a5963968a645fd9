"""Point values and their bootstrap (Efron 1979; plain or of whole clusters)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from medeval.scoring.resample import (
    BinResamples,
    ClusterResamples,
    Counts,
    Floats,
    Integers,
    Labels,
    RowResamples,
)

Advance = Callable[[int], object]

# Numbers per batch: few enough to stay in the processor's cache, enough to hide numpy's calls.
BATCH_NUMBERS = 1 << 19
MOST_AT_ONCE = 64
# Up to so many rows or clusters are left out one by one for the acceleration of BCa intervals.
MOST_PARTS = 2_000
PARTS_SEED = 0


class Statistic(ABC):
    """Some metrics as a function of how often each kind of row occurs.

    Rows that no metric can tell apart share a bin, so a resample is a few counts rather than many
    rows, and nothing is sorted again.

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


@dataclass(frozen=True)
class Resampling:
    """How the data are resampled.

    Attributes:
        n_iters: number of resamples; 0 gives point values only.
        seed: of `numpy.random.RandomState`, 0 to 2^32 - 1.
        clusters: cluster id of each row, shape (n,): whole clusters are resampled; None resamples
            rows.
        replay: draw the rows that numpy's legacy generator draws, as mimic3-benchmarks does; else
            bins of like rows are drawn at once, whatever the order of the rows.
    """

    n_iters: int
    seed: int
    clusters: Integers | None = None
    replay: bool = True


def score(
    statistic: Statistic, resampling: Resampling, *, progress: Advance | None = None
) -> Scores:
    """Return the metrics on the data and on every resample.

    Args:
        statistic: the metrics of the data.
        resampling: what is drawn, and how often.
        progress: called with the number of resamples done since the last call.
    """
    shape = (resampling.n_iters, len(statistic.names))
    if not statistic.rows:
        none = np.full(shape[1], np.nan)
        return Scores(statistic.names, none, np.full(shape, np.nan), ("no rows",) * shape[1])
    if resampling.clusters is not None and len(resampling.clusters) != statistic.rows:
        raise ValueError(f"{len(resampling.clusters)} cluster ids for {statistic.rows} rows")
    values = statistic.from_bins(_all_rows(statistic))[0]
    samples = np.empty(shape)
    resamples: BinResamples | ClusterResamples | RowResamples
    if not resampling.replay:
        resamples = BinResamples(resampling.seed, _all_rows(statistic)[0])
    elif resampling.clusters is not None:
        resamples = ClusterResamples(resampling.seed, resampling.clusters)
    else:
        resamples = RowResamples(resampling.seed, statistic.rows)
    # Memory does not grow with the number of resamples.
    most = max(1, BATCH_NUMBERS // max(statistic.rows, statistic.n_bins))
    size = min(most, MOST_AT_ONCE)
    for start in range(0, resampling.n_iters, size):
        part = samples[start : start + size]
        counts = resamples.counts(len(part), statistic.labels, statistic.n_bins)
        part[:] = statistic.from_bins(counts)
        if progress is not None:
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
    everything = _all_rows(statistic)
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


def _all_rows(statistic: Statistic) -> Integers:
    """Return the counts of the data themselves, shape (1, n_bins)."""
    if statistic.labels is None:
        return np.ones((1, statistic.rows), dtype=np.int64)
    return np.bincount(statistic.labels, minlength=statistic.n_bins)[None, :]
