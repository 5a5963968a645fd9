"""Means of scores over cases, with intervals; cases that failed stay in the count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from medeval.cdm.scores import SHARES, CaseScore
from medeval.models.scores import Interval
from medeval.scoring.resample import Floats
from medeval.scoring.table import mean

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
        answered: over the answered ones.
        zeroed: over all, with 0 for each that failed; None for counts.
        reason: why a value is missing.
    """

    n: int
    n_failed: int
    answered: Interval
    zeroed: Interval | None
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the values by name."""
        zeroed = self.zeroed
        return {
            "n": self.n,
            "n_failed": self.n_failed,
            "mean": self.answered.value,
            "low": self.answered.low,
            "high": self.answered.high,
            "mean_failures_as_zero": zeroed.value if zeroed else None,
            "low_failures_as_zero": zeroed.low if zeroed else None,
            "high_failures_as_zero": zeroed.high if zeroed else None,
            "reason": self.reason,
        }


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

    Shares have Wilson's interval, all else that of resampled cases; see `medeval.scoring.table`.

    Args:
        cases: the cases.
        names: scores and counts.
        seed: of the draws.
        n_iters: how many draws; 0 gives values without intervals.
        counts: those of the names for which zero is no worst value, so a failure is none.
    """
    n_failed = sum(case.score is None for case in cases)
    made = {}
    for name, column in zip(names, values_of(cases, names).T, strict=True):
        own = [None if math.isnan(value) else float(value) for value in column]
        found = partial(mean, is_share=name in SHARES, draws=n_iters, seed=seed)
        answered = found(own)
        zeroed = None if name in counts else found([value or 0.0 for value in own])
        reason = _reason(answered, n_iters) if cases else NO_CASE
        made[name] = Mean(len(cases), n_failed, answered, zeroed, reason)
    return made


def _reason(answered: Interval, n_iters: int) -> str | None:
    if answered.value is None:
        return NO_ANSWER
    if answered.low is not None:
        return None
    return ONE_CASE if n_iters else NO_DRAWS
