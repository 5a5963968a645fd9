"""Metrics of the remaining length of stay, in hours."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from medeval.scoring.binary import ratio
from medeval.scoring.bootstrap import Statistic
from medeval.scoring.resample import Counts, Floats

NAMES = ("Kappa", "MAD", "MSE", "MAPE")
# Upper edges of all bins but the last, half-open: mimic3models/metrics.py, class CustomBins.
EDGES_HOURS = 24.0 * np.array([1, 2, 3, 4, 5, 6, 7, 8, 14])
N_BINS = len(EDGES_HOURS) + 1
# Added to the truth before dividing by it (mimic3models/metrics.py). It keeps 0 hours from dividing
# by zero, and nothing else: -0.1 hours does.
OFFSET_HOURS = 0.1
ONE_BIN = "one bin"


class LengthOfStay(Statistic):
    """The four metrics of mimic3-benchmarks' evaluate_los.py; each row is a bin.

    `Kappa` (linear weights over ten bins), `MAD` (the mean absolute error, hours), `MSE` (hours
    squared) and `MAPE` (percent of the truth plus 0.1 hours).

    Attributes:
        errors: absolute, squared and relative error of each row (hours, hours squared, percent),
            shape (3, n).
        cells: cell of the confusion matrix of each row, 10 times the truth's bin plus the
            prediction's, shape (n,).
    """

    names = NAMES
    why = (ONE_BIN, *["infinite"] * 3)

    def __init__(self, truth: ArrayLike, prediction: ArrayLike, *, strict: bool = False) -> None:
        """Compute what does not change between resamples.

        Args:
            truth: hours, shape (n,), rounded through float32 as the published program reads them.
            prediction: hours, shape (n,); below 0 counts as 0.
            strict: makes no difference here; a kappa of one bin is NaN either way.
        """
        hours = np.asarray(truth, dtype=np.float64)
        guess = np.asarray(prediction, dtype=np.float64)
        if hours.ndim != 1 or hours.shape != guess.shape:
            raise ValueError(f"truth has shape {hours.shape}, prediction {guess.shape}")
        if not (np.isfinite(hours).all() and np.isfinite(guess).all()):
            raise ValueError("truth or prediction holds missing or infinite values")
        guess = np.maximum(guess, 0.0)
        error = hours - guess
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = 100 * np.abs(error / (hours + OFFSET_HOURS))
        cells = N_BINS * np.digitize(hours, EDGES_HOURS) + np.digitize(guess, EDGES_HOURS)
        self.errors = np.stack([np.abs(error), error**2, relative])
        self.cells = cells.astype(np.uint8)
        self.rows = self.n_bins = len(cells)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, 4), of row counts of shape (batch, n)."""
        weights = counts.astype(np.float64)
        cells = np.array(
            [np.bincount(self.cells, weights=one, minlength=N_BINS**2) for one in weights],
            dtype=np.float64,
        )
        # Not a matrix product: for one so narrow, BLAS keeps all cores busy and is no faster.
        sums = np.array(
            [[np.einsum("n,n->", error, one) for error in self.errors] for one in weights]
        )
        kappa = linear_kappa(cells.reshape(-1, N_BINS, N_BINS))
        means = ratio(sums, cells.sum(axis=1, keepdims=True))
        return np.concatenate([kappa[:, None], means], axis=1)


def linear_kappa(confusion: Floats, *, fixed_bins: bool = False) -> Floats:
    """Return Cohen's kappa with linear weights, shape (batch,); NaN where only one bin is present.

    Args:
        confusion: rows by bin of the truth and bin of the prediction, shape (batch, k, k).
        fixed_bins: take distances between bin numbers. By default, as in scikit-learn, which builds
            its weights from the labels it sees, distances are between ranks among the bins that are
            present in the truth or in the prediction.
    """
    truths, guesses = confusion.sum(axis=2), confusion.sum(axis=1)
    if fixed_bins:
        rank = np.broadcast_to(np.arange(confusion.shape[1]), truths.shape)
    else:
        rank = np.cumsum(truths + guesses > 0, axis=1)
    distance = np.abs(rank[:, :, None] - rank[:, None, :])
    observed = (distance * confusion).sum(axis=(1, 2))
    expected = (distance * truths[:, :, None] * guesses[:, None, :]).sum(axis=(1, 2))
    return 1 - ratio(observed * truths.sum(axis=1), expected)
