"""How two results of a task are compared, on the items that both have."""

from __future__ import annotations

from collections.abc import Mapping

from medeval.models.evaluation_result import EvaluationResult
from medeval.scoring.compare import Difference, mean_difference
from medeval.tasks.task import Method


def paired_differences(
    first: EvaluationResult,
    second: EvaluationResult,
    key: str,
    method: Method,
    directions: Mapping[str, str] | None = None,
) -> list[Difference]:
    """Compare the mean item scores of two results, on the same resamples of the items.

    Args:
        first: of one run.
        second: of another.
        key: of the inputs, that names an item.
        method: resamples and their seed.
        directions: which way metrics are better that are no score: `lower` or `neither`.

    Raises:
        UserError: the results have no item in common.
    """
    one, two = (
        {
            name: dict(zip((row[key] for row in result.inputs), scores, strict=True))
            for name, scores in (result.item_scores or {}).items()
        }
        for result in (first, second)
    )
    return [
        mean_difference(
            name,
            [score for item, score in one[name].items() if item in two[name]],
            [two[name][item] for item in one[name] if item in two[name]],
            draws=method.n_iters,
            seed=method.seed,
            direction=(directions or {}).get(name, "higher"),
        )
        for name in one
        if name in two
    ]
