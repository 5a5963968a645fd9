"""Differences of two runs: mean item scores, on the same resamples of the items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from medeval.errors import UserError
from medeval.models.evaluation_result import EvaluationResult
from medeval.tasks.task import Method

if TYPE_CHECKING:
    from medeval.scoring.compare import Difference


def paired_differences(
    first: EvaluationResult,
    second: EvaluationResult,
    key: str,
    method: Method,
    directions: Mapping[str, str] | None = None,
) -> list[Difference]:
    """Compare the item scores of two results, item by item.

    Args:
        first: of one run.
        second: of another.
        key: of the inputs, that names an item.
        method: resamples and their seed.
        directions: which way metrics are better that are no score: `lower` or `neither`.

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
            direction=(directions or {}).get(name, "higher"),
        )
        for name in one
        if name in two
    ]


def mean_difference(
    metric: str,
    first: Sequence[float | None],
    second: Sequence[float | None],
    method: Method,
    *,
    direction: str = "higher",
) -> Difference:
    """Compare the means of item scores; items that either run has no score for are left out.

    Args:
        metric: its name.
        first: scores of the first run, None where undefined.
        second: aligned with them.
        method: resamples and their seed.
        direction: which way is better, `higher`, `lower` or `neither`.

    Raises:
        UserError: the runs have different items, or none that both have a score for.
    """
    from medeval.scoring.compare import paired_difference  # numpy is slow to load

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
    one_run, other = ([(score, 1.0) for score in scores] for scores in zip(*pairs, strict=True))
    return paired_difference(
        metric, one_run, other, len(pairs),
        draws=method.n_iters, seed=method.seed, direction=direction,
    )  # fmt: skip
