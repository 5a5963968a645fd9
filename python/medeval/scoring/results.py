"""What scoring returns: point values, values of every resample, and their summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.integer[Any]]
Advance = Callable[[int], object]


class Undefined(StrEnum):
    """What a metric is where it has no meaning, as on rows of one class.

    `EXCLUDE`: NaN, for the area under the ROC curve, the area under the precision-recall curve and
    min(+P, Se) alike. `STRICT`: the numbers that scikit-learn 1.6 and later give: NaN for the first
    one and, without any positive, 0.5 and 0 for the others.
    """

    EXCLUDE = "exclude"
    STRICT = "strict"


EXCLUDE = Undefined.EXCLUDE
STRICT = Undefined.STRICT


@dataclass(frozen=True)
class Scores:
    """Some metrics on the data and on every resample.

    Attributes:
        names: keys of the m metrics, in the order and spelling of mimic3-benchmarks.
        values: point estimates, shape (m,); NaN is undefined.
        samples: values of the resamples, shape (n_iters, m); NaN is undefined in that resample.
        reasons: why a point estimate is undefined; None where it is defined.
    """

    names: tuple[str, ...]
    values: Floats
    samples: Floats
    reasons: tuple[str | None, ...]


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
