"""From resamples of many metrics to values with means, spreads and 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from medeval.scoring.bootstrap import Scores
from medeval.scoring.resample import Floats

TAILS = (0.025, 0.975)
NORMAL = NormalDist()


@dataclass(frozen=True)
class MetricSummary:
    """One metric over all resamples; NaN where there is nothing to say.

    Attributes:
        value: on the data itself.
        mean: of the resamples, as are the next three.
        median: the middle one.
        std: standard deviation with divisor n.
        low: lower end of the interval.
        high: upper end of the interval.
        n_undefined: resamples in which the metric is undefined.
        reason: why `value` is undefined; None where it is defined.
    """

    value: float
    mean: float
    median: float
    std: float
    low: float
    high: float
    n_undefined: int
    reason: str | None = None


def summarise(
    scores: Scores, *, strict_nan: bool = False, jackknife: Floats | None = None
) -> dict[str, MetricSummary]:
    """Summarise every metric, in the order of the scores.

    Args:
        scores: point values and resamples.
        strict_nan: one undefined resample leaves every statistic undefined, as in mimic3-benchmarks
            with scikit-learn 1.6 and later; else undefined resamples are left out and counted.
        jackknife: metrics without each part of the data, shape (parts, m), for intervals whose ends
            are moved by the resamples' bias and skewness (bias-corrected and accelerated; Efron
            1987, JASA 82:171-185). Without it they are the 2.5 % and 97.5 % percentiles of the
            resamples (linear interpolation, as mimic3-benchmarks does).
    """
    found = {}
    for place, name in enumerate(scores.names):
        samples = scores.samples[:, place]
        defined = samples[~np.isnan(samples)]
        n_undefined = len(samples) - len(defined)
        value = float(scores.values[place])
        mean = median = std = low = high = math.nan
        if len(defined) and not (strict_nan and n_undefined):
            mean, median, std = map(float, (defined.mean(), np.median(defined), defined.std()))
            tails: tuple[float, ...] | None = TAILS
            if jackknife is not None:
                tails = bca_tails(value, defined, jackknife[:, place])
            if tails is not None:
                low, high = map(float, np.quantile(defined, tails))
        reason = scores.reasons[place]
        found[name] = MetricSummary(value, mean, median, std, low, high, n_undefined, reason)
    return found


def bca_tails(value: float, samples: Floats, without: Floats) -> tuple[float, ...] | None:
    """Return which shares of the resamples lie below the ends of the BCa interval.

    None where it does not exist: the value is undefined, or all resamples lie on one side of it.
    The acceleration is a sixth of the skewness of the influences of the parts, over n^0.5 (Efron
    and Tibshirani 1993, An Introduction to the Bootstrap, equation 14.15).

    Args:
        value: the metric on the data.
        samples: on the resamples, all defined.
        without: on the data without each part; undefined ones are left out.
    """
    below = (np.mean(samples < value) + np.mean(samples <= value)) / 2
    if math.isnan(value) or not 0 < below < 1:
        return None
    bias = NORMAL.inv_cdf(float(below))
    defined = without[~np.isnan(without)]
    influence = defined.mean() - defined if len(defined) else np.zeros(1)
    spread = float((influence**2).sum())
    acceleration = float((influence**3).sum()) / (6 * spread**1.5) if spread else 0.0
    shifted = [bias + NORMAL.inv_cdf(tail) for tail in TAILS]
    return tuple(NORMAL.cdf(bias + one / (1 - acceleration * one)) for one in shifted)
