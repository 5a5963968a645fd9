"""How much a judge's scores move when nothing about the answer does."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, pstdev
from typing import Any

from medeval.judging.results import JudgingResults
from medeval.scoring.table import mean


def repeat_spread(results: JudgingResults, seed: int = 0) -> dict[str, Any]:
    """Return how far the repeats of each judge lie apart on one answer, by judge and dimension.

    Returns:
        For each: the mean over answers of the standard deviation of its repeats, the share of
        answers on which all repeats agree, and the widest range.
    """
    found: dict[str, Any] = {}
    for judge in results.judges:
        scores: dict[tuple[str, int], dict[str, list[float]]] = {}
        for judgment in judge.judgments:
            own = scores.setdefault((judgment.subject, judgment.sample), {})
            for name, score in judgment.scores.items():
                if score is not None:
                    own.setdefault(name, []).append(score)
        found[judge.judge] = {
            name: _spread([own.get(name, []) for own in scores.values()], seed)
            for name in results.prompt.rubric.names
        }
    return found


def _spread(repeats: list[list[float]], seed: int) -> dict[str, Any]:
    several = [each for each in repeats if len(each) > 1]
    return {
        "deviation": _mean([pstdev(each) for each in several], seed),
        "unchanged": _mean([float(len(set(each)) == 1) for each in several], seed, is_share=True),
        "widest_range": max((max(each) - min(each) for each in several), default=None),
    }


def variant_shift(
    standard: JudgingResults, others: Mapping[str, JudgingResults], seed: int = 0
) -> dict[str, Any]:
    """Return how the scores move when the same answers are put to the judges in another way.

    Args:
        standard: the usual prompt.
        others: the same answers by other variants, by name.
        seed: of the resamples.

    Returns:
        For each variant and dimension: the mean change, its size without sign, and the share of
        answers whose score stays; over the answers and judges that have both.
    """
    before = _scores(standard)
    return {
        variant: {
            name: _shift(before, _scores(results), name, seed)
            for name in standard.prompt.rubric.names
        }
        for variant, results in others.items()
    }


_Scores = dict[tuple[str, int], dict[str, dict[str, float]]]


def _scores(results: JudgingResults) -> _Scores:
    """Return the first scores: answer to judge to dimension."""
    found: _Scores = {}
    for judge in results.judges:
        for judgment in judge.judgments:
            if judgment.repeat == 0:
                given = {
                    name: score for name, score in judgment.scores.items() if score is not None
                }
                found.setdefault((judgment.subject, judgment.sample), {})[judge.judge] = given
    return found


def _shift(before: _Scores, after: _Scores, dimension: str, seed: int) -> dict[str, Any]:
    changes = []
    for answer, judges in before.items():
        now = after.get(answer, {})
        own = [
            now[judge][dimension] - scores[dimension]
            for judge, scores in judges.items()
            if dimension in scores and dimension in now.get(judge, {})
        ]
        if own:
            changes.append(own)
    return {
        "change": _mean([fmean(own) for own in changes], seed),
        "absolute_change": _mean([fmean(map(abs, own)) for own in changes], seed),
        "unchanged": _mean(
            [fmean(float(each == 0) for each in own) for own in changes], seed, is_share=True
        ),
    }


def _mean(scores: list[float], seed: int, *, is_share: bool = False) -> dict[str, Any]:
    return mean(scores, seed=seed, is_share=is_share, reason="there is no value").model_dump()
