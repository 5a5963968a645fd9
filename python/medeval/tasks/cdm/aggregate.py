"""The scores of a run: means by pathology and overall, with intervals; failed cases stay in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from medeval.models.clinical_case import PATHOLOGIES
from medeval.models.scores import Interval
from medeval.scoring.table import mean
from medeval.tasks.cdm.scores import COUNTS, SCORES, SHARES, CaseScore

UNKNOWN_FAILURE = "unknown"
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

    @property
    def shown(self) -> Interval:
        """What tables show: failed cases count as zero, but in counts."""
        return self.answered if self.zeroed is None else self.zeroed

    def as_json(self) -> dict[str, Any]:
        """Return the values by name."""
        named: dict[str, Any] = {"n": self.n, "n_failed": self.n_failed}
        for found, kind in ((self.answered, ""), (self.zeroed, "_failures_as_zero")):
            for name, key in (("mean", "value"), ("low", "low"), ("high", "high")):
                named[f"{name}{kind}"] = getattr(found, key, None)
        return {**named, "reason": self.reason}


@dataclass(frozen=True)
class Aggregate:
    """The means of a run.

    Attributes:
        n: cases that were asked.
        n_failed: those of them that failed.
        failures: how many failed for each reason.
        overall: the mean of each score and count over all cases.
        by_pathology: the same for each pathology, those without a case too.
    """

    n: int
    n_failed: int
    failures: dict[str, int]
    overall: dict[str, Mean]
    by_pathology: dict[str, dict[str, Mean]]


def aggregate(
    cases: Sequence[ScoredCase],
    *,
    seed: int = 0,
    n_iters: int = N_ITERS,
    possible: Sequence[str] = SCORES,
) -> Aggregate:
    """Return the means of all scores and counts, by pathology and overall.

    Args:
        cases: every case that was asked, with its score or the reason of its failure.
        seed: of the intervals.
        n_iters: how many draws they are made from; 0 makes none.
        possible: the scores that there are for a case that is answered.

    Raises:
        ValueError: a case twice, or scores of two versions.
    """
    check_cases(cases)
    counted = [name for name in COUNTS if any(one.score and one.score.counts for one in cases)]
    names = [*score_names(cases, possible), *counted]
    failed = [case.failure or UNKNOWN_FAILURE for case in cases if case.score is None]
    chosen = partial(means, names=names, seed=seed, n_iters=n_iters)
    return Aggregate(
        n=len(cases),
        n_failed=len(failed),
        failures=dict(sorted(Counter(failed).items())),
        overall=chosen(cases),
        by_pathology={
            name: chosen([case for case in cases if case.pathology == name]) for name in PATHOLOGIES
        },
    )


def value_of(case: ScoredCase, name: str, failed: float | None = None) -> float | None:
    """Return a score or count of a case, or what one that failed has."""
    return failed if case.score is None else float((case.score.scores | case.score.counts)[name])


def means(
    cases: Sequence[ScoredCase], names: Sequence[str], *, seed: int, n_iters: int = N_ITERS
) -> dict[str, Mean]:
    """Return the mean of each score over the cases, whatever their order.

    Shares have Wilson's interval, all else that of resampled cases; see `medeval.scoring.table`.
    For counts zero is no worst value, so a failure is none.

    Args:
        cases: the cases.
        names: scores and counts.
        seed: of the draws.
        n_iters: how many draws; 0 gives values without intervals.
    """
    n_failed = sum(case.score is None for case in cases)
    made = {}
    for name in names:
        own = [value_of(case, name) for case in cases]
        found = partial(mean, is_share=name in SHARES, draws=n_iters, seed=seed)
        answered = found(own)
        zeroed = None if name in COUNTS else found([value or 0.0 for value in own])
        reason = None
        if answered.value is None:
            reason = NO_ANSWER if cases else NO_CASE
        elif answered.low is None:
            reason = ONE_CASE if n_iters else NO_DRAWS
        made[name] = Mean(len(cases), n_failed, answered, zeroed, reason)
    return made


def check_cases(cases: Sequence[ScoredCase]) -> None:
    """Refuse what no mean can be made of.

    Raises:
        ValueError: a case twice, or scores of two versions or of two ways of asking.
    """
    repeated = [hadm_id for hadm_id, n in Counter(case.hadm_id for case in cases).items() if n > 1]
    if repeated:
        raise ValueError(f"case {repeated[0]} is there more than once")
    kinds = {(one.score.version, tuple(one.score.scores)) for one in cases if one.score}
    if len(kinds) > 1:
        raise ValueError("scores of two versions, or with and without tools, have no common mean")


def score_names(cases: Sequence[ScoredCase], possible: Sequence[str] = SCORES) -> list[str]:
    """Return the scores that the cases have; all that are possible if every case failed."""
    present = {name for case in cases if case.score for name in case.score.scores}
    return [name for name in possible if name in present] or list(possible)
