"""How far predictions are probabilities, with a weight for each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medeval.scoring.binary import ratio
from medeval.scoring.resample import Floats

ERROR_BINS = 10
# A prediction of exactly 0 or 1 has no logit; it counts as one in a million.
LEAST_PROBABILITY = 1e-6
MOST_STEPS = 50
CLOSE = 1e-10


def expected_calibration_error(
    truth: NDArray[np.bool_], prediction: Floats, weights: Floats
) -> Floats:
    """Return the mean distance of prediction and truth over ten bins of equal width (batch,).

    A bin counts by its rows (Naeini, Cooper and Hauskrecht 2015, AAAI 29); 1 belongs to the last
    one.

    Args:
        truth: shape (n,).
        prediction: shape (n,).
        weights: shape (batch, n).
    """
    place = np.minimum((prediction * ERROR_BINS).astype(np.int64), ERROR_BINS - 1)
    excess = prediction - truth
    distances = [np.abs(np.bincount(place, one * excess)).sum() for one in weights]
    return ratio(distances, weights.sum(axis=1))


def logits(prediction: Floats) -> Floats:
    """Return log odds, shape (n,)."""
    inside = np.clip(prediction, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.log(inside) - np.log1p(-inside)


def fit_slope(
    linear: Floats, truth: NDArray[np.bool_], weights: Floats, start: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return intercept and slope of the logistic regression of the truth on log odds.

    1 is right, below 1 too extreme (Cox 1958, Biometrika 45:562-565). Newton's method; None where
    there is no finite maximum, as with one class, one prediction, or classes that do not overlap.

    Args:
        linear: log odds of the predictions, shape (n,).
        truth: shape (n,).
        weights: shape (n,).
        start: where to begin; 0 and 1 by default.
    """
    used = weights > 0
    if not used.all():
        linear, truth, weights = linear[used], truth[used], weights[used]
    if not truth.any() or truth.all():
        return None
    positive, negative = linear[truth], linear[~truth]
    if positive.min() >= negative.max() or negative.min() >= positive.max():
        return None
    intercept, slope = start or (0.0, 1.0)
    for _ in range(MOST_STEPS):
        # Beyond +-40 the probability is 0 or 1 in float64 anyway, and exp stays finite.
        probability = 1 / (1 + np.exp(-np.clip(intercept + slope * linear, -40, 40)))
        residual = weights * (truth - probability)
        curvature = weights * probability * (1 - probability)
        along = curvature * linear
        a, b, c = curvature.sum(), along.sum(), np.einsum("n,n->", along, linear)
        determinant = a * c - b * b
        if not determinant > 0:
            return None
        first, second = residual.sum(), np.einsum("n,n->", residual, linear)
        steps = (c * first - b * second) / determinant, (a * second - b * first) / determinant
        intercept, slope = float(intercept + steps[0]), float(slope + steps[1])
        if max(map(abs, steps)) < CLOSE * (1 + abs(intercept) + abs(slope)):
            return intercept, slope
    return None if start is None else fit_slope(linear, truth, weights, None)
