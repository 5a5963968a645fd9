"""Whether longer answers earn more, and whether they still do among equally good ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medeval.judging.results import JudgingResults
from medeval.metrics.matching import token_f1, tokens
from medeval.scoring.table import RowStatistic, row_interval

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats

_FEWEST = 3
_NO_VALUE = "fewer than three answers were judged, or length or score are all the same"
_NO_PARTIAL = (
    "fewer than four answers were judged with a reference, or length, score or overlap are all the"
    " same"
)


def length_bias(results: JudgingResults, seed: int = 0) -> dict[str, Any]:
    """Return Spearman's correlation of an answer's length in words with its score.

    A good answer is often a longer one, so the correlation is also given with the overlap of words
    with the reference held fixed (partial, by ranks).

    Returns:
        `reward` and each dimension, with `spearman` and `partial_on_overlap`.
    """
    import numpy as np

    rows = []
    for each in results.subjects:
        if each.reward_judged is not None and not each.reason:
            overlap = token_f1(each.subject.reference, each.subject.judged)
            scores = [each.reward_judged, *(each.scores[n] for n in results.prompt.rubric.names)]
            rows.append([float(len(tokens(each.subject.judged))), overlap, *scores])
    table = np.array(rows, dtype=np.float64).reshape(
        len(rows), 3 + len(results.prompt.rubric.names)
    )

    def found(statistic: RowStatistic, columns: list[int], reason: str) -> dict[str, Any]:
        return row_interval(statistic, _whole(table[:, columns]), reason, seed=seed).model_dump()

    return {
        name: {
            "spearman": found(_spearman, [0, column], _NO_VALUE),
            "partial_on_overlap": found(_partial, [0, column, 1], _NO_PARTIAL),
        }
        for column, name in enumerate(("reward", *results.prompt.rubric.names), start=2)
    }


def _whole(rows: Floats) -> Floats:
    import numpy as np

    return rows[np.isfinite(rows).all(axis=1)]


def _spearman(rows: Floats) -> float | None:
    """Return the correlation of the ranks of two columns; None where it has no meaning."""
    import numpy as np
    from scipy.stats import rankdata  # type: ignore[import-untyped]

    if len(rows) < _FEWEST:
        return None
    first, second = rankdata(rows, axis=0).T
    first, second = first - first.mean(), second - second.mean()
    size = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / size if size else None


def _partial(rows: Floats) -> float | None:
    """Return the correlation of the first two columns' ranks with the third's held fixed."""
    import numpy as np

    if len(rows) <= _FEWEST:
        return None
    pairs = [_spearman(rows[:, columns]) for columns in ([0, 1], [0, 2], [1, 2])]
    if None in pairs:
        return None
    of_both, of_first, of_second = (float(pair or 0.0) for pair in pairs)
    left = (1 - of_first**2) * (1 - of_second**2)
    # Where the third column decides one of the others there is nothing left to correlate.
    return float((of_both - of_first * of_second) / np.sqrt(left)) if left > 1e-12 else None
