"""Resamples that numba draws and counts in one loop."""

from __future__ import annotations

import numpy as np

from medeval.scoring import _fast
from medeval.scoring.resamples import MANY_ACCEPTED
from medeval.scoring.results import Labels
from medeval.scoring.statistic import Counts


class FastRowResamples:
    """Single rows, from the same stream as `RowResamples`."""

    def __init__(self, seed: int, rows: int) -> None:
        state = np.random.RandomState(seed).get_state(legacy=False)["state"]
        self._state = np.array(state["key"], dtype=np.uint32)
        self._spare = np.empty_like(self._state)
        self._words = np.empty_like(self._state)
        self._position = _fast.STATE_WORDS
        self._rows = rows
        self._labels: Labels | None = None
        self._labels_of_words: Labels = np.empty(0, dtype=np.uint8)
        self._mask = np.uint32((1 << (rows - 1).bit_length()) - 1)

    def counts(self, iterations: int, labels: Labels | None, n_bins: int) -> Counts:
        """See `Resamples.counts`."""
        if self._rows == 1:  # numpy draws no word where there is no choice
            label = 0 if labels is None else int(labels[0])
            return np.tile(np.arange(n_bins) == label, (iterations, 1)).astype(np.int64)
        stream = (self._state, self._spare, self._words, self._position, self._mask)
        counts: Counts
        if labels is None:
            # The counts of one row side by side, as rankings take them.
            by_row = np.zeros((n_bins, iterations), dtype=_fast.count_type(n_bins))
            counts = by_row.T if iterations > 1 else by_row.reshape(1, n_bins)
            self._position = _fast.count_rows(*stream, counts)
            return counts
        counts = np.zeros((iterations, n_bins + 1), dtype=np.int32)
        padded = self._padded(labels, n_bins)
        self._position = _fast.count_labels(*stream, self._rows, padded, counts)
        return counts[:, :n_bins]

    def _padded(self, labels: Labels, n_bins: int) -> Labels:
        """Return the labels, with one more bin for rejected words where those are few."""
        words = int(self._mask) + 1
        if self._rows < MANY_ACCEPTED * words:
            return labels
        if labels is not self._labels:
            self._labels = labels
            self._labels_of_words = np.full(words, n_bins, np.min_scalar_type(n_bins))
            self._labels_of_words[: len(labels)] = labels
        return self._labels_of_words
