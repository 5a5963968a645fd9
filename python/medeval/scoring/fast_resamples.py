"""Resamples that numba draws and counts in one loop."""

from __future__ import annotations

import numpy as np

from medeval.scoring import _fast
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
        self._mask = np.uint32((1 << (rows - 1).bit_length()) - 1)

    def counts(self, iterations: int, labels: Labels | None, n_bins: int) -> Counts:
        """See `Resamples.counts`."""
        if labels is None:
            # The counts of one row side by side, as rankings take them.
            by_row = np.zeros((n_bins, iterations), dtype=_fast.count_type(n_bins))
            counts = by_row.T if iterations > 1 else by_row.reshape(1, n_bins)
        else:
            counts = np.zeros((iterations, n_bins), dtype=np.int32)
        if self._rows == 1:
            counts[:] = 1 if labels is None else np.bincount(labels, minlength=n_bins)
            return counts  # numpy draws no word where there is no choice
        stream = (self._state, self._spare, self._words, self._position, self._mask)
        if labels is None:
            self._position = _fast.count_rows(*stream, counts)
        else:
            self._position = _fast.count_labels(*stream, labels, counts)
        return counts
