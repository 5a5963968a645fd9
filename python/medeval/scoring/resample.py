"""Resamples as counts: plain rows, whole clusters, or bins of like rows.

mimic3-benchmarks draws its resamples through `sklearn.utils.resample` from numpy's global legacy
generator: iteration i uses the i-th block of n numbers of `RandomState(seed).randint(0, n)`. That
stream is made of 32-bit words of MT19937, masked with the smallest 2^b - 1 that covers n - 1; words
above n - 1 are rejected. No state is kept between calls, so any number of blocks may be drawn at
once. `RowResamples` and `ClusterResamples` replay it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.integer[Any]]
Counts = NDArray[np.integer[Any]]

# Above it, the generator's own loop guesses its branches right and beats masking whole arrays.
MANY_ACCEPTED = 0.95
# Words drawn at a time: arrays of this size stay in the cache, and their memory is used again.
WORDS_AT_ONCE = 1 << 16


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
