"""Values with a bootstrap interval over items (Efron 1979, percentiles), seeded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Statistic = Callable[[Floats], float | None]

RESAMPLES = 1000
LEVEL = (2.5, 97.5)
_MOST_DRAWN = 1_000_000


def estimate(
    statistic: Statistic, rows: Floats, seed: int, why_none: str, resamples: int = RESAMPLES
) -> dict[str, Any]:
    """Return a statistic with its interval.

    Whole items are drawn with replacement. A resample on which the statistic has no meaning is
    left out of the interval and counted.

    Args:
        statistic: takes items in rows, returns None where it has no meaning.
        rows: shape (items, ...).
        seed: of the resamples.
        why_none: what to say if there is no value.
        resamples: how many.

    Returns:
        `value`, `n`, `low`, `high`, `method`, `n_undefined`, and `reason` where there is no value.
    """
    import numpy as np

    n = len(rows)
    value = statistic(rows) if n else None
    found: dict[str, Any] = {"value": value, "n": n, "low": None, "high": None}
    method = method_of(seed, resamples)
    if value is None:
        return {**found, "method": method, "n_undefined": 0, "reason": why_none}
    random = np.random.default_rng(seed)
    drawn = [statistic(rows[random.integers(0, n, n)]) for _ in range(resamples)]
    defined = [each for each in drawn if each is not None]
    if defined:
        low, high = np.percentile(defined, LEVEL)
        found.update(low=float(low), high=float(high))
    return {**found, "method": method, "n_undefined": resamples - len(defined)}


def method_of(seed: int, resamples: int = RESAMPLES) -> str:
    """Say how an interval was made."""
    return f"percentile bootstrap over items, {resamples} resamples, seed {seed}"


def mean_estimate(values: Sequence[float | None], seed: int) -> dict[str, Any]:
    """Return the mean of the values that there are, with its interval, as `estimate` would."""
    import numpy as np

    given = np.array([value for value in values if value is not None], dtype=np.float64)
    n = len(given)
    if not n:
        return estimate(lambda rows: None, given, seed, "there is no value")
    random = np.random.default_rng(seed)
    # The resamples of `estimate`, many at a time.
    at_a_time = max(1, _MOST_DRAWN // n)
    means = [
        given[random.integers(0, n, (min(at_a_time, RESAMPLES - first), n))].mean(axis=1)
        for first in range(0, RESAMPLES, at_a_time)
    ]
    low, high = np.percentile(np.concatenate(means), LEVEL)
    return {
        "value": float(given.mean()),
        "n": n,
        "low": float(low),
        "high": float(high),
        "method": method_of(seed),
        "n_undefined": 0,
    }
