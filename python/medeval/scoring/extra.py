"""Metrics that mimic3-benchmarks does not have, on the same resamples.

The same seed and the same clusters draw the same resamples as for the published metrics, so these
values may be set beside those, resample by resample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medeval.scoring.binary import (
    ONE_CLASS,
    Steps,
    average_precision,
    binary_arrays,
    make_curve,
    make_steps,
    where_undefined,
)
from medeval.scoring.bootstrap import Engine
from medeval.scoring.calibration import brier, expected_calibration_error, fit_slope, logits
from medeval.scoring.length_of_stay import N_BINS, ONE_BIN, LengthOfStay, linear_kappa
from medeval.scoring.resample import Counts, Floats, Labels

BINARY = ("average_precision", "brier", "calibration_slope", "expected_calibration_error")
LENGTH_OF_STAY = ("kappa_fixed_bins",)
PHENOTYPING = ("average_precision_macro", "brier_macro", "expected_calibration_error_macro")
NO_PROBABILITY = "predictions outside 0 to 1"
NO_SLOPE = "no finite slope"


@dataclass(frozen=True)
class ExtraBinary:
    """Average precision, and how far predictions are probabilities.

    Brier score, calibration slope and error need predictions in 0 to 1. Rows with the same truth
    and prediction share a bin.

    Attributes:
        labels: bin of each row, shape (n,).
        truth: whether the rows of a bin are positive, shape (n_bins,).
        prediction: of the rows of a bin, shape (n_bins,).
        steps: the ranking of the bins.
        start: intercept and slope of the whole data, from where resamples' fits start.
        has_slope: whether the slope is computed, which takes longer than all the rest.
    """

    labels: Labels
    truth: NDArray[np.bool_]
    prediction: Floats
    steps: Steps
    start: tuple[float, float] | None
    has_slope: bool = True
    names: tuple[str, ...] = BINARY
    rankings: int = 1

    @classmethod
    def of(cls, truth: ArrayLike, prediction: ArrayLike, *, has_slope: bool = True) -> ExtraBinary:
        """Find the distinct rows; shapes as in `Binary.of`."""
        positive, scores = binary_arrays(truth, prediction)
        distinct, labels = np.unique(scores + 1j * positive, return_inverse=True)
        outcome, guess = distinct.imag > 0, np.ascontiguousarray(distinct.real)
        if not len(scores):
            return cls(labels, outcome, guess, Steps(np.empty(0, np.uint8), 0, 1), None, has_slope)
        start = None
        if has_slope and is_probability(guess):
            weights = np.bincount(labels).astype(np.float64)
            start = fit_slope(logits(guess), outcome, weights, None)
        return cls(labels, outcome, guess, make_steps(outcome, guess), start, has_slope)

    @property
    def rows(self) -> int:
        """Number of rows, n."""
        return len(self.labels)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.prediction)

    def from_bins(self, counts: Counts, engine: Engine) -> Floats:
        """Return the metrics, shape (batch, 4), of counts of shape (batch, n_bins)."""
        weights = counts.astype(np.float64)
        values = np.full((len(counts), len(BINARY)), np.nan)
        by_step = [np.bincount(self.steps.labels, one, self.steps.n_bins) for one in weights]
        curve = make_curve(self.steps, np.array(by_step, dtype=np.int64))
        values[:, 0] = average_precision(curve)
        values[(curve.n_positives == 0) | (curve.n_negatives == 0), 0] = np.nan
        if not is_probability(self.prediction):
            return values
        values[:, 1] = brier(self.truth, self.prediction, weights)
        if self.has_slope:
            linear = logits(self.prediction)
            for one, row in zip(weights, values, strict=True):
                fitted = fit_slope(linear, self.truth, one, self.start)
                row[2] = np.nan if fitted is None else fitted[1]
        values[:, 3] = expected_calibration_error(self.truth, self.prediction, weights)
        return values

    def reasons(self, values: Floats) -> tuple[str | None, ...]:
        """Say why a point value has no meaning."""
        both = self.truth.any() and not self.truth.all()
        slope = NO_SLOPE if both else ONE_CLASS
        if not is_probability(self.prediction):
            slope = NO_PROBABILITY
        reasons = (ONE_CLASS, NO_PROBABILITY, slope, NO_PROBABILITY)
        return where_undefined(values, reasons)


@dataclass(frozen=True)
class FixedKappa:
    """Cohen's kappa with linear weights between the ten bins' numbers, whichever are present."""

    labels: Labels
    names: tuple[str, ...] = LENGTH_OF_STAY
    rankings: int = 1
    n_bins: int = N_BINS**2

    @classmethod
    def of(cls, truth: ArrayLike, prediction: ArrayLike) -> FixedKappa:
        """Find the bins; shapes as in `LengthOfStay.of`."""
        return cls(LengthOfStay.of(truth, prediction).cells)

    @property
    def rows(self) -> int:
        """Number of rows, n."""
        return len(self.labels)

    def from_bins(self, counts: Counts, engine: Engine) -> Floats:
        """Return the metric, shape (batch, 1), of cell counts of shape (batch, 100)."""
        confusion = counts.reshape(-1, N_BINS, N_BINS).astype(np.float64)
        return linear_kappa(confusion, fixed_bins=True)[:, None]

    def reasons(self, values: Floats) -> tuple[str | None, ...]:
        """Say why a point value has no meaning."""
        return where_undefined(values, (ONE_BIN,))


@dataclass(frozen=True)
class ExtraPhenotyping:
    """Plain means over the labels of what `ExtraBinary` gives, but for the slope."""

    rows: int
    by_label: tuple[ExtraBinary, ...]
    labels: None = None
    names: tuple[str, ...] = PHENOTYPING

    @classmethod
    def of(cls, truth: ArrayLike, prediction: ArrayLike) -> ExtraPhenotyping:
        """Find the distinct rows of each label; shapes as in `Phenotyping.of`."""
        outcome, scores = np.asarray(truth), np.asarray(prediction, dtype=np.float64)
        if outcome.ndim != 2:
            raise ValueError(f"truth has shape {outcome.shape}, prediction {scores.shape}")
        by_label = [
            ExtraBinary.of(one, guess, has_slope=False)
            for one, guess in zip(outcome.T, scores.T, strict=True)
        ]
        return cls(len(scores), tuple(by_label))

    @property
    def n_bins(self) -> int:
        """Number of bins: each row is one."""
        return self.rows

    @property
    def rankings(self) -> int:
        """Passes over n rows: one for each label."""
        return len(self.by_label)

    def from_bins(self, counts: Counts, engine: Engine) -> Floats:
        """Return the metrics, shape (batch, 3), of row counts of shape (batch, n)."""
        values = np.zeros((len(counts), len(BINARY)))
        for label in self.by_label:
            by_bin = [np.bincount(label.labels, one, label.n_bins) for one in counts]
            values += label.from_bins(np.array(by_bin, dtype=np.int64), engine)
        return values[:, [0, 1, 3]] / len(self.by_label)

    def reasons(self, values: Floats) -> tuple[str | None, ...]:
        """Say why a point value has no meaning."""
        return where_undefined(values, (ONE_CLASS, NO_PROBABILITY, NO_PROBABILITY))


def is_probability(prediction: Floats) -> bool:
    """Tell whether all predictions lie in 0 to 1."""
    return bool(((prediction >= 0) & (prediction <= 1)).all())
