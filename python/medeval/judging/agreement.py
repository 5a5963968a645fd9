"""How far the judges of a jury agree, by dimension, each figure with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from medeval.judging.correlations import icc_2_1, icc_3_k, quadratic_kappa, within
from medeval.judging.krippendorff import ordinal_alpha
from medeval.judging.results import JudgingResults
from medeval.scoring.table import RowStatistic, row_interval

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats

_NO_PAIRS = "no answer has scores of two judges"
_NO_KAPPA = "no answer has scores of both, or all scores are the same"
_NO_ALPHA = "no answer has scores of two judges, or all scores are the same"
_NO_ICC = "fewer than two answers have scores of all judges, or all scores are the same"


def agreement(results: JudgingResults, seed: int = 0) -> dict[str, Any]:
    """Return the agreement of the judges by dimension.

    Of several judgments by one judge the first counts: a mean would hide how unsure it is.

    Args:
        results: of a jury.
        seed: of the resamples.
    """
    judges = [judge.judge for judge in results.judges]
    return {
        "judges": judges,
        "dimensions": {
            name: agreement_of(score_matrix(results, name), judges, seed)
            for name in results.prompt.rubric.names
        },
    }


def agreement_of(scores: Floats, judges: Sequence[str], seed: int = 0) -> dict[str, Any]:
    """Return the agreement of judges on one scale.

    Args:
        scores: shape (items, judges), NaN for a gap.
        judges: their names.
        seed: of the resamples.

    Returns:
        The share of equal scores and of those at most 1 apart, over all pairs; the weighted kappa
        of each pair; Krippendorff's alpha; ICC(2,1) and ICC(3,k). The resamples are the same for
        all of them.
    """

    def found(statistic: RowStatistic, rows: Floats, reason: str) -> dict[str, Any]:
        return row_interval(statistic, rows, reason, seed=seed).model_dump()

    pairs = list(combinations(range(len(judges)), 2))
    return {
        "exact": found(lambda rows: within(rows, 0), scores, _NO_PAIRS),
        "within_1": found(lambda rows: within(rows, 1), scores, _NO_PAIRS),
        "quadratic_kappa": [
            {
                "judges": [judges[one], judges[other]],
                **found(quadratic_kappa, scores[:, [one, other]], _NO_KAPPA),
            }
            for one, other in pairs
        ],
        "krippendorff_alpha": found(ordinal_alpha, scores, _NO_ALPHA),
        "icc_2_1": found(icc_2_1, scores, _NO_ICC),
        "icc_3_k": found(icc_3_k, scores, _NO_ICC),
        "complete_items": _complete(scores),
    }


def score_matrix(results: JudgingResults, dimension: str) -> Floats:
    """Return the first scores of a dimension, shape (answers, judges), NaN where there is none."""
    import numpy as np

    judges = [judge.judge for judge in results.judges]
    matrix = np.full((len(results.subjects), len(judges)), np.nan)
    for row, subject in enumerate(results.subjects):
        for judgment in subject.judgments:
            score = judgment.scores.get(dimension)
            if judgment.repeat == 0 and score is not None:
                matrix[row, judges.index(judgment.judge)] = score
    return matrix


def _complete(scores: Floats) -> int:
    import numpy as np

    return int(np.isfinite(scores).all(axis=1).sum())
