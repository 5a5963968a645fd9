"""The scores of a run: means by pathology and overall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from medeval.cdm.case_means import N_ITERS, Mean, ScoredCase, means
from medeval.cdm.scores import COUNTS, SCORES
from medeval.models.clinical_case import PATHOLOGIES

__all__ = ["Aggregate", "Mean", "ScoredCase", "aggregate"]

UNKNOWN_FAILURE = "unknown"


@dataclass(frozen=True)
class Aggregate:
    """The means of a run.

    Attributes:
        n: cases that were asked.
        n_failed: those of them that failed.
        failures: how many failed for each reason.
        overall: the mean of each score and count over all cases.
        by_pathology: the same for each pathology, those without a case too.
        score_version: of the scores; None if every case failed.
        seed: of the intervals.
        n_iters: how many draws they are made from.
    """

    n: int
    n_failed: int
    failures: dict[str, int]
    overall: dict[str, Mean]
    by_pathology: dict[str, dict[str, Mean]]
    score_version: int | None
    seed: int
    n_iters: int

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "score_version": self.score_version,
            "n": self.n,
            "n_answered": self.n - self.n_failed,
            "n_failed": self.n_failed,
            "failures": self.failures,
            "interval": {
                "method": "Wilson for shares, else percentile bootstrap over cases",
                "level": 0.95,
                "n_iters": self.n_iters,
                "seed": self.seed,
            },
            "overall": _json(self.overall),
            "by_pathology": {name: _json(found) for name, found in self.by_pathology.items()},
        }


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
    names = [*score_names(cases, possible), *_present(cases, COUNTS)]
    failed = [case for case in cases if case.score is None]
    reasons = Counter(case.failure or UNKNOWN_FAILURE for case in failed)
    groups = {name: [case for case in cases if case.pathology == name] for name in PATHOLOGIES}
    return Aggregate(
        n=len(cases),
        n_failed=len(failed),
        failures=dict(sorted(reasons.items())),
        overall=means(cases, names, seed=seed, n_iters=n_iters, counts=COUNTS),
        by_pathology={
            name: means(found, names, seed=seed, n_iters=n_iters, counts=COUNTS)
            for name, found in groups.items()
        },
        score_version=next((case.score.version for case in cases if case.score), None),
        seed=seed,
        n_iters=n_iters,
    )


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
    return _present(cases, possible) or list(possible)


def _present(cases: Sequence[ScoredCase], names: Sequence[str]) -> list[str]:
    found = {
        name for case in cases if case.score for name in (*case.score.scores, *case.score.counts)
    }
    return [name for name in names if name in found]


def _json(found: dict[str, Mean]) -> dict[str, Any]:
    return {name: mean.as_json() for name, mean in found.items()}
