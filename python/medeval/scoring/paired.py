"""Two results of a task: the items that both have, and how their scores of these differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from medeval.models.evaluation_result import EvaluationResult
from medeval.scoring.compare import Difference, mean_difference


def shared_items(first: EvaluationResult, second: EvaluationResult) -> list[tuple[int, int]]:
    """Return the places of each item in both results, in the order of the first.

    What is called alike and comes several times, as samples do, is joined by its number.
    """
    places: list[dict[tuple[str, int], int]] = []
    for result in (first, second):
        before = Counter[str]()
        known = dict[tuple[str, int], int]()
        for place, name in enumerate(result.item_ids()):
            known[name, before[name]] = place
            before[name] += 1
        places.append(known)
    one, two = places
    return [(place, two[key]) for key, place in one.items() if key in two]


def paired_differences(
    first: EvaluationResult,
    second: EvaluationResult,
    draws: int,
    seed: int,
    directions: Mapping[str, str] | None = None,
) -> list[Difference]:
    """Compare the mean item scores of two results, on the same resamples of the items.

    Args:
        first: of one run.
        second: of another.
        draws: how many resamples.
        seed: of these.
        directions: which way metrics are better that are no score: `lower` or `neither`.

    Raises:
        UserError: the results have no item in common.
    """
    places = shared_items(first, second)
    others = second.item_scores or {}
    return [
        mean_difference(
            name,
            [scores[place] for place, _ in places],
            [others[name][place] for _, place in places],
            draws=draws,
            seed=seed,
            direction=(directions or {}).get(name, "higher"),
        )
        for name, scores in (first.item_scores or {}).items()
        if name in others
    ]
