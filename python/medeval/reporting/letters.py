"""Which models no test tells apart: letters that they share, as in a compact letter display.

Each pair is compared on the items that both have a score for; p values are corrected over all pairs
(Holm). Letters are found by insertion and absorption: H.-P. Piepho, An Algorithm for a Letter-Based
Representation of All-Pairwise Comparisons, J. Comput. Graph. Stat. 13 (2004) 456-466.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import isclose
from statistics import fmean

from medeval.errors import UserError
from medeval.inference.types import canonical
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.scores import DRAWS
from medeval.scoring.compare import Verdict, corrected, mean_difference

SENTENCE = (
    "Models that share a letter cannot be told apart: paired tests on the same items, p values"
    " corrected for all pairs (Holm), level 5 %; that need not mean that they are equal."
)
# Holm multiplies the smallest p value by the number of pairs, and it has to get below 0.05.
_DRAWS_A_PAIR = 40
_SIGNS = string.ascii_letters


def shared_letters(
    results: Mapping[str, EvaluationResult], metric: str, direction: str, *, seed: int = 0
) -> tuple[dict[str, str], list[str]]:
    """Return the letters of models, and why some or all have none, in sentences.

    Args:
        results: of one task by the model's name, the best first.
        metric: by which they are compared.
        direction: which way it is better.
        seed: of resamples and exchanges.
    """
    scores, untested = dict[str, dict[str, float | None]](), dict[str, list[str]]()
    for name, result in results.items():
        items = _item_scores(result, metric)
        if isinstance(items, str):
            untested.setdefault(items, []).append(name)
        else:
            scores[name] = items
    why = [f"No letter for {', '.join(names)}: {reason}." for reason, names in untested.items()]
    if len(results) < 2:
        return {}, []
    if len(scores) < 2:
        every = len(untested) == 1 and not scores
        return {}, [f"No letters: {next(iter(untested))}."] if every else why
    pairs = list(combinations(range(len(scores)), 2))
    draws, entries = max(DRAWS, _DRAWS_A_PAIR * len(pairs)), list(scores.values())
    found = []
    for one, two in pairs:
        shared = [item for item in entries[one] if item in entries[two]]
        both = ([entries[each][item] for item in shared] for each in (one, two))
        try:
            found.append(
                mean_difference(metric, *both, draws=draws, seed=seed, direction=direction)
            )
        except UserError:
            return {}, [f"No letters: two models have no scores of the same items for {metric}."]
    differing = [
        pair
        for pair, one in zip(pairs, corrected(found), strict=True)
        if one.verdict not in (Verdict.NEITHER, Verdict.UNDEFINED)
    ]
    return dict(zip(scores, compact_letters(len(scores), differing), strict=True)), why


def compact_letters(count: int, differing: Collection[tuple[int, int]]) -> list[str]:
    """Return letters so that two share one if and only if they do not differ.

    Args:
        count: how many there are; the first has an `a`.
        differing: pairs of places.
    """
    groups = [frozenset(range(count))]
    for pair in sorted(differing):
        parts = [
            part
            for group in groups
            for part in ([group - {one} for one in pair] if group.issuperset(pair) else [group])
        ]
        distinct = list(dict.fromkeys(parts))
        groups = [part for part in distinct if not any(part < other for other in distinct)]
    groups.sort(key=sorted)
    signs = [*_SIGNS, *(f"{sign}{n}" for n in range(2, len(groups)) for sign in _SIGNS)]
    return [
        "".join(sign for sign, group in zip(signs, groups, strict=False) if place in group)
        for place in range(count)
    ]


def _item_scores(result: EvaluationResult, metric: str) -> dict[str, float | None] | str:
    """Return the scores by item, or why there is nothing to test with."""
    scores = (result.item_scores or {}).get(metric)
    defined = [score for score in scores or () if score is not None]
    if scores is None or not defined:
        return f"the run keeps no scores of single items for {metric}"
    if not isclose(fmean(defined), result.metrics_results[metric], rel_tol=1e-9, abs_tol=1e-9):
        return f"{metric} is no mean of scores of single items"
    # A result without inputs has the order of its content, whose hash is the same.
    rows: Sequence[object] = result.inputs or range(len(scores))
    times, found = Counter[str](), dict[str, float | None]()
    for name, score in zip(map(canonical, rows), scores, strict=True):
        times[name] += 1
        found[f"{name} {times[name]}"] = score
    return found
