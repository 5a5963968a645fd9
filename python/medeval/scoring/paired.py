"""Two results of a task: the items that both have, and how their scores of these differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from medeval.models.evaluation_result import EvaluationResult
from medeval.scoring.compare import Difference, mean_difference, paired_difference

# In the metadata of a result: numerator and denominator of each item, of metrics that are the ratio
# of their sums.
RATIOS = "item_ratios"


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
        UserError: the results have no item in common.
    """
    places = shared_items(first, second)
    found = []
    for means in (True, False):
        one, two = (_scores(each, means) for each in (first, second))
        for name in (name for name in one if name in two and name in (metrics or one)):
            scores = [one[name][place] for place, _ in places]
            others = [two[name][place] for _, place in places]
            way = (directions or {}).get(name, "higher")
            drawn: dict[str, Any] = {"draws": draws, "seed": seed, "direction": way}
            if means or not places:
                found.append(mean_difference(name, scores, others, **drawn))
            else:
                found.append(paired_difference(name, scores, others, len(places), **drawn))
    return found


def _scores(result: EvaluationResult, means: bool) -> Mapping[str, Sequence[Any]]:
    return (result.item_scores if means else result.metadata.get(RATIOS)) or {}
