"""From resamples to means, spreads and 95 % intervals."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

import numpy as np

from medeval.scoring.results import Floats, MetricSummary, Scores

__all__ = ["Method", "MetricSummary", "summarise"]

Method = Literal["percentile", "bca"]
TAILS = (0.025, 0.975)
NORMAL = NormalDist()


def summarise(
    scores: Scores,
    *,
    method: Method = "percentile",
    strict_nan: bool = False,
    jackknife: Floats | None = None,
) -> dict[str, MetricSummary]:
    """Summarise every metric, in the order of the scores.

    Args:
        scores: point values and resamples.
        method: `percentile` takes the 2.5 % and 97.5 % percentiles of the resamples (linear
            interpolation, as mimic3-benchmarks does); `bca` moves both ends by the resamples' bias
            and skewness (bias-corrected and accelerated; Efron 1987, JASA 82:171-185).
        strict_nan: one undefined resample leaves every statistic undefined, as in mimic3-benchmarks
            with scikit-learn 1.6 and later; else undefined resamples are left out and counted.
        jackknife: metrics without each part of the data, shape (parts, m); `bca` needs them.
    """
    if method == "bca" and jackknife is None:
        raise ValueError("BCa intervals need the metrics without each part of the data")
    return {
        name: _summary(
            float(scores.values[place]),
            scores.samples[:, place],
            scores.reasons[place],
            strict_nan,
            None if method == "percentile" or jackknife is None else jackknife[:, place],
        )
        for place, name in enumerate(scores.names)
    }


def _summary(
    value: float, samples: Floats, reason: str | None, strict_nan: bool, without: Floats | None
) -> MetricSummary:
    defined = samples[~np.isnan(samples)]
    n_undefined = len(samples) - len(defined)
    if not len(defined) or (strict_nan and n_undefined):
        nothing = (math.nan,) * 5
        return MetricSummary(value, *nothing, n_undefined=n_undefined, reason=reason)
    tails = TAILS if without is None else bca_tails(value, defined, without)
    if tails is None:
        low, high = math.nan, math.nan
    else:
        low, high = (float(np.percentile(defined, 100 * tail)) for tail in tails)
    return MetricSummary(
        value=value,
        mean=float(np.mean(defined)),
        median=float(np.median(defined)),
        std=float(np.std(defined)),
        low=low,
        high=high,
        n_undefined=n_undefined,
        reason=reason,
    )


def bca_tails(value: float, samples: Floats, without: Floats) -> tuple[float, float] | None:
    """Return which shares of the resamples lie below the ends of the BCa interval.

    None where it does not exist: the value is undefined, or all resamples lie on one side of it.

    Args:
        value: the metric on the data.
        samples: on the resamples, all defined.
        without: on the data without each part; undefined ones are left out.
    """
    below = (np.mean(samples < value) + np.mean(samples <= value)) / 2
    if math.isnan(value) or not 0 < below < 1:
        return None
    bias = NORMAL.inv_cdf(float(below))
    acceleration = accelerate(without[~np.isnan(without)])
    low, high = (_moved(NORMAL.inv_cdf(tail), bias, acceleration) for tail in TAILS)
    return low, high


def _moved(quantile: float, bias: float, acceleration: float) -> float:
    shifted = bias + quantile
    return NORMAL.cdf(bias + shifted / (1 - acceleration * shifted))


def accelerate(without: Floats) -> float:
    """Return the acceleration: a sixth of the skewness of the influences of the parts, over n^0.5.

    Efron and Tibshirani 1993, An Introduction to the Bootstrap, equation 14.15.
    """
    if not len(without):
        return 0.0
    influence = without.mean() - without
    spread = float((influence**2).sum())
    return float((influence**3).sum()) / (6 * spread**1.5) if spread else 0.0
