"""Two results of a task: the items that both have, and how their scores of these differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from medeval.errors import UserError
from medeval.models.benchmark_report import GOLD, EvaluationResult
from medeval.scoring.compare import Difference, of_means, paired_difference

# In the metadata of a result: numerator and denominator of each item, of metrics that are the ratio
# of their sums.
RATIOS = "item_ratios"


def shared_items(first: EvaluationResult, second: EvaluationResult) -> list[tuple[int, int]]:
    """Return the places of each item in both results, in the order of the first.

    What is called alike and comes several times, as samples do, is joined by its number.
    """
    places = []
    for result in (first, second):
        numbers = defaultdict[str, Iterator[int]](count)
        ids = enumerate(result.item_ids())
        places.append({(name, next(numbers[name])): place for place, name in ids})
    one, two = places
    return [(place, two[key]) for key, place in one.items() if key in two]


def paired_differences(
    first: EvaluationResult,
    second: EvaluationResult,
    draws: int,
    seed: int,
    directions: Mapping[str, str] | None = None,
    metrics: Collection[str] | None = None,
) -> list[Difference]:
    """Compare means and ratios of item scores of two results, on the same resamples of the items.

    Args:
        first: of one run.
        second: of another.
        draws: how many resamples.
        seed: of these.
        directions: which way metrics are better that are no score: `lower` or `neither`.
        metrics: some of the metrics; None takes all.

    Raises:
        UserError: the results have no item in common, or other gold answers to items that are
            called alike.
    """
    one, two = _ratios(first), _ratios(second)
    places = shared_items(first, second)
    gold, other = (result.metadata.get(GOLD) or () for result in (first, second))
    if gold and other and any(gold[here] != other[there] for here, there in places):
        raise UserError("The runs are of other data: the same items have other gold answers.")
    drawn: dict[str, Any] = {"draws": draws, "seed": seed}
    return [
        paired_difference(
            name,
            [one[name][place] for place, _ in places],
            [two[name][place] for _, place in places],
            direction=(directions or {}).get(name, "higher"),
            **drawn,
        )
        for name in one
        if name in two and name in (metrics or one)
    ]


def _ratios(result: EvaluationResult) -> dict[str, Sequence[Any]]:
    """Return numerator and denominator of each item by metric."""
    means = {name: of_means(scores) for name, scores in (result.item_scores or {}).items()}
    return {**means, **(result.metadata.get(RATIOS) or {})}
