"""Metrics that mimic3-benchmarks does not have, on the same resamples.

The same seed and the same clusters draw the same resamples as for the published metrics, so these
values may be set beside those, resample by resample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from medeval.scoring.binary import (
    ONE_CLASS,
    average_precision,
    make_curve,
    make_steps,
    outcomes,
    ratio,
)
from medeval.scoring.bootstrap import Statistic
from medeval.scoring.calibration import expected_calibration_error, fit_slope, logits
from medeval.scoring.length_of_stay import N_BINS, ONE_BIN, LengthOfStay, linear_kappa
from medeval.scoring.resample import Counts, Floats, Labels

NO_PROBABILITY = "predictions outside 0 to 1"
NO_SLOPE = "no finite slope"


class ExtraBinary(Statistic):
    """Average precision, and how far predictions are probabilities.

    Brier score, calibration slope and error need predictions in 0 to 1. Rows with the same truth
    and prediction share a bin.

    Attributes:
        truth: whether the rows of a bin are positive, shape (n_bins,).
        prediction: of the rows of a bin, shape (n_bins,).
        start: intercept and slope of the whole data, from where resamples' fits start.
        has_slope: whether the slope is computed, which takes longer than all the rest.
    """

    names = ("average_precision", "brier", "calibration_slope", "expected_calibration_error")
    labels: Labels

    def __init__(self, truth: ArrayLike, prediction: ArrayLike, *, has_slope: bool = True) -> None:
        """Find the distinct rows; shapes as in `Binary`."""
        positive, scores = outcomes(truth, prediction, 1)
        distinct, self.labels = np.unique(scores + 1j * positive, return_inverse=True)
        self.truth, self.prediction = distinct.imag > 0, np.ascontiguousarray(distinct.real)
        self.rows, self.n_bins = len(scores), len(distinct)
        self.steps = make_steps(self.truth, self.prediction)
        inside = (self.prediction >= 0) & (self.prediction <= 1)
        self.is_probability, self.has_slope = bool(inside.all()), has_slope
        self.start = None
        if has_slope and self.is_probability:
            weights = np.bincount(self.labels).astype(np.float64)
            self.start = fit_slope(logits(self.prediction), self.truth, weights, None)
        slope = NO_SLOPE if self.truth.any() and not self.truth.all() else ONE_CLASS
        if not self.is_probability:
            slope = NO_PROBABILITY
        self.why = (ONE_CLASS, NO_PROBABILITY, slope, NO_PROBABILITY)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, 4), of counts of shape (batch, n_bins)."""
        weights = counts.astype(np.float64)
        values = np.full((len(counts), len(self.names)), np.nan)
        by_step = [np.bincount(self.steps.labels, one, self.steps.n_bins) for one in weights]
        curve = make_curve(self.steps, np.array(by_step, dtype=np.int64))
        values[:, 0] = average_precision(curve)
        values[(curve.n_positives == 0) | (curve.n_negatives == 0), 0] = np.nan
        if not self.is_probability:
            return values
        # The mean squared error of probabilities (Brier 1950).
        squares = (self.prediction - self.truth) ** 2
        values[:, 1] = ratio(np.einsum("bn,n->b", weights, squares), weights.sum(axis=1))
        if self.has_slope:
            linear = logits(self.prediction)
            for one, row in zip(weights, values, strict=True):
                fitted = fit_slope(linear, self.truth, one, self.start)
                row[2] = np.nan if fitted is None else fitted[1]
        values[:, 3] = expected_calibration_error(self.truth, self.prediction, weights)
        return values


class FixedKappa(Statistic):
    """Cohen's kappa with linear weights between the ten bins' numbers, whichever are present."""

    names = ("kappa_fixed_bins",)
    why = (ONE_BIN,)
    n_bins = N_BINS**2

    def __init__(self, truth: ArrayLike, prediction: ArrayLike) -> None:
        """Find the bins; shapes as in `LengthOfStay`."""
        self.labels = LengthOfStay(truth, prediction).cells
        self.rows = len(self.labels)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metric, shape (batch, 1), of cell counts of shape (batch, 100)."""
        confusion = counts.reshape(-1, N_BINS, N_BINS).astype(np.float64)
        return linear_kappa(confusion, fixed_bins=True)[:, None]


class ExtraPhenotyping(Statistic):
    """Plain means over the labels of what `ExtraBinary` gives, but for the slope."""

    names = ("average_precision_macro", "brier_macro", "expected_calibration_error_macro")
    why = (ONE_CLASS, NO_PROBABILITY, NO_PROBABILITY)

    def __init__(self, truth: ArrayLike, prediction: ArrayLike) -> None:
        """Find the distinct rows of each label; shapes as in `Phenotyping`."""
        positive, scores = outcomes(truth, prediction, 2)
        self.by_label = [
            ExtraBinary(one, guess, has_slope=False)
            for one, guess in zip(positive.T, scores.T, strict=True)
        ]
        self.rows = self.n_bins = len(scores)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, 3), of row counts of shape (batch, n)."""
        values = np.zeros((len(counts), len(ExtraBinary.names)))
        for label in self.by_label:
            by_bin = [np.bincount(label.labels, one, label.n_bins) for one in counts]
            values += label.from_bins(np.array(by_bin, dtype=np.int64))
        return values[:, [0, 1, 3]] / len(self.by_label)
