"""How far judges agree with people, and people with each other.

A judge is compared with the mean of the raters and, if there are several, with each of them by
itself. Only the latter may be held against the agreement of the raters among themselves, the
ceiling: a mean of several people is steadier than any one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from medeval.judging.agreement import score_matrix
from medeval.judging.human import HumanRatings
from medeval.judging.pair_statistics import pair_agreement
from medeval.judging.results import JudgingResults

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats

REWARD = "reward"


def human_agreement(results: JudgingResults, human: HumanRatings, seed: int = 0) -> dict[str, Any]:
    """Return the agreement of each judge, of the jury's mean and of the raters, by dimension.

    The reward is compared as the mean of an answer's dimensions, in points of the scale, where all
    of them were scored. Of several judgments by one judge the first counts; the jury's mean is over
    all of them. Raters are numbered as they come in the file: a report does not name people.

    Args:
        results: of the judges.
        human: of the raters.
        seed: of the resamples.

    Returns:
        Counts of what was rated and judged, and under `dimensions` for each dimension and the
        reward: `judges` by name, `jury` if there are several, each `with_mean` of the raters and
        `with_each`; `raters`, the ceiling for the latter; each with the statistics of
        `pair_statistics`.

    Raises:
        UserError: none of the answers was rated.
    """
    answers = [(each.subject.id, each.subject.sample) for each in results.subjects]
    matched = human.count_of(each.subject for each in results.subjects)
    names = results.prompt.rubric.names
    judged = _with_reward({name: score_matrix(results, name) for name in names})
    pooled = _with_reward({name: _jury_scores(results, name) for name in names})
    rated = _with_reward({name: human.matrix(answers, name) for name in names})
    return {
        "sha256": human.sha256,
        "scores": len(human.ratings),
        "raters": len(human.raters),
        "answers_rated": len(human.answers),
        "answers_rated_and_of_the_run": matched,
        "answers_not_rated": len(answers) - matched,
        "dimensions": {
            name: _agreement(results, judged[name], pooled[name], rated[name], seed)
            for name in (*names, REWARD)
        },
    }


def _agreement(
    results: JudgingResults, judged: Floats, pooled: Floats, rated: Floats, seed: int
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "judges": {
            judge.judge: _with_raters(judged[:, column], rated, seed)
            for column, judge in enumerate(results.judges)
        }
    }
    if len(results.judges) > 1:
        found["jury"] = _with_raters(pooled, rated, seed)
    if rated.shape[1] > 1:
        found["raters"] = pair_agreement(rated, list(combinations(range(rated.shape[1]), 2)), seed)
    return found


def _with_raters(scores: Floats, rated: Floats, seed: int) -> dict[str, Any]:
    import numpy as np

    together = np.column_stack([scores, _mean(rated)])
    found = {"with_mean": pair_agreement(together, [(0, 1)], seed)}
    if rated.shape[1] > 1:
        apart = np.column_stack([scores, rated])
        pairs = [(0, column) for column in range(1, apart.shape[1])]
        found["with_each"] = pair_agreement(apart, pairs, seed)
    return found


def _mean(rated: Floats) -> Floats:
    """Return the mean over the raters who gave a score; NaN where none did."""
    import numpy as np

    given = np.isfinite(rated)
    count = given.sum(axis=1)
    means: Floats = np.where(given, rated, 0).sum(axis=1) / np.where(count, count, np.nan)
    return means


def _with_reward(scores: Mapping[str, Floats]) -> dict[str, Floats]:
    """Add the mean of the dimensions; NaN where one of them is missing."""
    import numpy as np

    return {**scores, REWARD: np.mean(list(scores.values()), axis=0)}


def _jury_scores(results: JudgingResults, dimension: str) -> Floats:
    import numpy as np

    scores = [each.scores.get(dimension) for each in results.subjects]
    return np.array([np.nan if score is None else score for score in scores], dtype=np.float64)
