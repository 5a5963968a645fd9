"""Means of scores over cases, with bootstrap intervals; cases that failed stay in the count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medeval.cdm.scoring import CaseScore
from medeval.scoring.bootstrap import LARGEST_SEED, Resampling, score
from medeval.scoring.engine import Engine
from medeval.scoring.results import Floats
from medeval.scoring.statistic import Counts
from medeval.scoring.summary import summarise

N_ITERS = 1000
NO_CASE = "no case"
NO_ANSWER = "no case was answered"
ONE_CASE = "one case only: there is no interval"
NO_DRAWS = "without resamples there is no interval"


@dataclass(frozen=True)
class ScoredCase:
    """A case that was asked.

    Attributes:
        hadm_id: the case.
        pathology: its pathology.
        score: its score; None if the case failed.
        failure: why it failed; None if it did not.
    """

    hadm_id: int
    pathology: str
    score: CaseScore | None
    failure: str | None = None


@dataclass(frozen=True)
class Mean:
    """The mean of one score over some cases; None where there is nothing to say.

    Attributes:
        n: how many cases were asked.
        n_failed: how many of them failed.
        mean: over the answered ones.
        low: lower end of its 95 % interval.
        high: upper end.
        mean_failures_as_zero: over all, with 0 for each that failed; None for counts.
        low_failures_as_zero: lower end of its 95 % interval.
        high_failures_as_zero: upper end.
        reason: why a value is missing.
    """

    n: int
    n_failed: int
    mean: float | None
    low: float | None
    high: float | None
    mean_failures_as_zero: float | None
    low_failures_as_zero: float | None
    high_failures_as_zero: float | None
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the values by name."""
        return dict(vars(self))


class _Means:
    """The means as a function of how often each case was drawn; see `medeval.scoring`."""

    labels = None
    rankings = 1

    def __init__(self, values: Floats) -> None:
        self._answered = ~np.isnan(values)
        self._values = np.where(self._answered, values, 0.0)
        self.rows, n_scores = values.shape
        self.n_bins = self.rows
        self.names = tuple(map(str, range(2 * n_scores)))

    def from_bins(self, counts: Counts, engine: Engine) -> Floats:
        """Return the means over the answered, then with failures as zero."""
        sums = counts @ self._values
        answered = counts @ self._answered
        with np.errstate(invalid="ignore"):
            means = np.where(answered > 0, sums / np.maximum(answered, 1), math.nan)
        return np.hstack([means, sums / counts.sum(axis=1, keepdims=True)])

    def reasons(self, values: Floats) -> tuple[str | None, ...]:
        """Say where no case of the data was answered."""
        return tuple(NO_ANSWER if math.isnan(value) else None for value in values)


def values_of(cases: Sequence[ScoredCase], names: Sequence[str]) -> Floats:
    """Return the values of scores and counts, shape (cases, names); NaN where a case failed."""
    rows = [
        [
            {**case.score.scores, **case.score.counts}[name] if case.score else math.nan
            for name in names
        ]
        for case in cases
    ]
    return np.array(rows, dtype=np.float64).reshape(len(cases), len(names))


def means(
    cases: Sequence[ScoredCase],
    names: Sequence[str],
    *,
    seed: int,
    n_iters: int = N_ITERS,
    counts: Sequence[str] = (),
) -> dict[str, Mean]:
    """Return the mean of each score over the cases, whatever their order.

    The intervals are percentiles of means of cases drawn with replacement (Efron 1979), failed
    ones among them.

    Args:
        cases: the cases.
        names: scores and counts.
        seed: of the draws.
        n_iters: how many draws; 0 gives values without intervals.
        counts: those of the names for which zero is no worst value, so a failure is none.
    """
    ordered = sorted(cases, key=lambda case: case.hadm_id)
    n_failed = sum(case.score is None for case in ordered)
    if not ordered:
        return {name: Mean(0, 0, *(None,) * 6, reason=NO_CASE) for name in names}
    statistic = _Means(values_of(ordered, names))
    found = summarise(score(statistic, Resampling(n_iters, seed % (LARGEST_SEED + 1))))
    reason = ONE_CASE if len(ordered) == 1 else None if n_iters else NO_DRAWS
    made = {}
    for place, name in enumerate(names):
        answered, zeroed = found[str(place)], found[str(place + len(names))]
        ends = [answered.low, answered.high, zeroed.low, zeroed.high]
        low, high, low_zeroed, high_zeroed = (
            None if reason or math.isnan(end) else end for end in ends
        )
        is_count = name in counts
        made[name] = Mean(
            n=len(ordered),
            n_failed=n_failed,
            mean=None if math.isnan(answered.value) else answered.value,
            low=low,
            high=high,
            mean_failures_as_zero=None if is_count else zeroed.value,
            low_failures_as_zero=None if is_count else low_zeroed,
            high_failures_as_zero=None if is_count else high_zeroed,
            reason=answered.reason or reason,
        )
    return made
