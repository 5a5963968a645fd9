"""Differences of two runs: mean item scores, on the same resamples of the items."""

from __future__ import annotations

from collections.abc import Sequence

from medeval.errors import UserError
from medeval.models.evaluation_result import EvaluationResult
from medeval.tasks.task import Difference, Method

LEVEL = 0.95
BATCH = 256
# Equal in exact arithmetic, apart by rounding.
ROUNDING = 1e-12


def paired_differences(
    first: EvaluationResult, second: EvaluationResult, key: str, method: Method
) -> list[Difference]:
    """Compare the item scores of two results, item by item.

    Args:
        first: of one run.
        second: of another.
        key: of the inputs, that names an item.
        method: resamples and their seed.

    Raises:
        UserError: the results have no item in common.
    """
    places = {row[key]: place for place, row in enumerate(second.inputs)}
    pairs = [
        (place, places[row[key]]) for place, row in enumerate(first.inputs) if row[key] in places
    ]
    one, two = first.item_scores or {}, second.item_scores or {}
    return [
        mean_difference(
            name,
            [one[name][place] for place, _ in pairs],
            [two[name][place] for _, place in pairs],
            method,
        )
        for name in one
        if name in two
    ]


def mean_difference(
    metric: str,
    first: Sequence[float | None],
    second: Sequence[float | None],
    method: Method,
) -> Difference:
    """Compare the means of item scores; items that either run has no score for are left out.

    The interval is the percentile interval of paired resamples of the items; the p value is that
    of approximate randomisation: how often a mean difference as large appears when the two scores
    of an item are exchanged at random (Noreen 1989, Computer-Intensive Methods for Testing
    Hypotheses).

    Args:
        metric: its name.
        first: scores of the first run, None where undefined.
        second: aligned with them.
        method: resamples and their seed.

    Raises:
        UserError: the runs have different items, or none that both have a score for.
    """
    import numpy as np

    from medeval.scoring.resamples import RowResamples

    if len(first) != len(second):
        raise UserError(
            f"{metric}: one run has {len(first):,} items and the other {len(second):,}: scores are"
            " compared item by item."
        )
    pairs = [
        (one, two)
        for one, two in zip(first, second, strict=True)
        if one is not None and two is not None
    ]
    if not pairs:
        raise UserError(f"{metric}: there is no item that both runs have a score for.")
    if method.n_iters < 1:
        raise UserError("a comparison needs resamples: --n-iters 1 or more.")
    scores = np.array(pairs, dtype=np.float64)
    between = scores[:, 0] - scores[:, 1]
    n = len(between)
    resamples = RowResamples(method.seed, n)
    random = np.random.default_rng([method.seed, 1])
    observed = abs(float(between.mean()))
    means, reached = [], 0
    for start in range(0, method.n_iters, BATCH):
        size = min(BATCH, method.n_iters - start)
        means.append(resamples.counts(size, None, n) @ between / n)
        signs = 1 - 2 * random.integers(0, 2, size=(size, n))
        reached += int((np.abs(signs @ between / n) >= observed - ROUNDING).sum())
    tail = 50 * (1 - LEVEL)
    low, high = np.percentile(np.concatenate(means), [tail, 100 - tail])
    return Difference(
        metric,
        float(scores[:, 0].mean()),
        float(scores[:, 1].mean()),
        float(between.mean()),
        float(low),
        float(high),
        (1 + reached) / (1 + method.n_iters),
        n,
    )
