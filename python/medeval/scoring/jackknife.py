"""Metrics without each part of the data, for the acceleration of BCa intervals.

Leaving out every single row costs n evaluations, too many for hundreds of thousands of rows. Above
`MOST_PARTS` rows (or clusters, where clusters are resampled) they are dealt at random, seeded, into
that many parts, and whole parts are left out (delete-d jackknife, Shao and Wu 1989). The
acceleration is a third moment over the power 3/2 of a second one of the rows' influences; sums of
independent influences over parts estimate the same two moments, with a standard error near
0.4 / parts.
"""

from __future__ import annotations

import numpy as np

from medeval.scoring.bootstrap import BATCH_NUMBERS, all_rows
from medeval.scoring.engine import Engine
from medeval.scoring.results import Floats, Integers
from medeval.scoring.statistic import Statistic

MOST_PARTS = 2_000
SEED = 0


def jackknife(
    statistic: Statistic, clusters: Integers | None = None, most_parts: int = MOST_PARTS
) -> Floats:
    """Return the metrics without each part of the data, shape (parts, m).

    Args:
        statistic: the metrics of the data.
        clusters: cluster id of each row, shape (n,); None where rows are resampled.
        most_parts: up to so many rows or clusters are left out one by one.
    """
    if not statistic.rows:
        return np.empty((0, len(statistic.names)))
    part = parts(statistic.rows, clusters, most_parts)
    n_parts = int(part.max()) + 1
    labels = np.arange(statistic.rows) if statistic.labels is None else statistic.labels
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(n_parts + 1))
    everything = all_rows(statistic)
    size = max(1, BATCH_NUMBERS[Engine.NUMPY] // statistic.n_bins)
    values = np.empty((n_parts, len(statistic.names)))
    for first in range(0, n_parts, size):
        last = min(first + size, n_parts)
        rows = order[bounds[first] : bounds[last]]
        bins = (part[rows] - first) * statistic.n_bins + labels[rows]
        left_out = np.bincount(bins, minlength=(last - first) * statistic.n_bins)
        counts = everything - left_out.reshape(last - first, statistic.n_bins)
        values[first:last] = statistic.from_bins(counts, Engine.NUMPY)
    return values


def parts(rows: int, clusters: Integers | None, most_parts: int) -> Integers:
    """Return the number of the part of each row, shape (rows,), from 0 on without a gap."""
    if clusters is None:
        unit_of_row, n_units = np.arange(rows), rows
    else:
        ids, unit_of_row = np.unique(clusters, return_inverse=True)
        n_units = len(ids)
    if n_units <= most_parts:
        return unit_of_row
    dealt = np.random.default_rng(SEED).permutation(n_units) % most_parts
    return dealt[unit_of_row]
