"""Which models no test tells apart: letters that they share, as in a compact letter display.

Each pair is compared on the items that both have a score for; p values are corrected over all pairs
(Holm). Letters are found by insertion and absorption: H.-P. Piepho, An Algorithm for a Letter-Based
Representation of All-Pairwise Comparisons, J. Comput. Graph. Stat. 13 (2004) 456-466.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from math import isclose
from statistics import fmean

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport, EvaluationResult
from medeval.models.scores import DRAWS
from medeval.reporting.entries import Entry
from medeval.scoring.compare import Difference, Verdict, corrected
from medeval.scoring.paired import RATIOS, paired_differences

Compare = Callable[[Sequence[BenchmarkReport], str, str], Sequence[Difference]]

SENTENCE = (
    "Models that share a letter cannot be told apart: paired tests on the same items, p values"
    " corrected for all pairs (Holm), level 5 %; that need not mean that they are equal."
)
# Holm multiplies the smallest p value by the number of pairs, and it has to get below 0.05.
_DRAWS_A_PAIR = 40
_SIGNS = string.ascii_letters


def shared_letters(
    entries: Mapping[str, Entry],
    metric: str,
    tasks: Sequence[str],
    direction: str,
    *,
    seed: int = 0,
    compare: Compare | None = None,
) -> tuple[dict[str, str], list[str]]:
    """Return the letters of models, and why some or all have none, in sentences.

    Args:
        entries: the reports by the model's name, the best first.
        metric: by which they are compared.
        tasks: those over which it is a mean; models are told apart on one task only.
        direction: which way it is better.
        seed: of resamples and exchanges.
        compare: returns the comparisons of all pairs, where results keep no scores of items.
    """
    if len(entries) < 2:
        return {}, []
    if len(tasks) > 1:
        return {}, [f"No letters: {metric} is a mean over {len(tasks)} tasks."]
    tested, untested = dict[str, EvaluationResult](), dict[str, list[str]]()
    for name, entry in entries.items():
        if (result := entry.only.get(tasks[0])) is None:
            return {}, ["No letters: a report has several results of the task."]
        if reason := _why_untested(result, metric):
            untested.setdefault(reason, []).append(name)
        else:
            tested[name] = result
    why = [f"No letter for {', '.join(names)}: {reason}." for reason, names in untested.items()]
    reports = [entry.report for entry in entries.values()]
    try:
        if found := compare(reports, tasks[0], metric) if compare and not tested else ():
            return _letters_of(found, list(entries)), []
    except UserError as error:
        return {}, [f"No letters: {error}"]
    if len(tested) < 2:
        every = len(untested) == 1 and not tested
        return {}, [f"No letters: {next(iter(untested))}."] if every else why
    pairs = list(combinations(range(len(tested)), 2))
    draws, ways = max(DRAWS, _DRAWS_A_PAIR * len(pairs)), {metric: direction}
    known, found = list(tested.values()), list[Difference]()
    try:
        for one, two in pairs:
            found += paired_differences(known[one], known[two], draws, seed, ways, [metric])
    except UserError:
        return {}, [f"No letters: two models have no scores of the same items for {metric}."]
    return _letters_of(corrected(found), list(tested)), why


def _letters_of(differences: Sequence[Difference], names: Sequence[str]) -> dict[str, str]:
    """Return the letters of models, given the comparisons of all pairs in their order."""
    differing = [
        pair
        for pair, one in zip(combinations(range(len(names)), 2), differences, strict=True)
        if one.verdict not in (Verdict.NEITHER, Verdict.UNDEFINED)
    ]
    return dict(zip(names, compact_letters(len(names), differing), strict=True))


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


def _why_untested(result: EvaluationResult, metric: str) -> str:
    """Return why there are no scores of items to test with; empty if there are."""
    if metric in (result.metadata.get(RATIOS) or {}):
        return ""
    scores = (result.item_scores or {}).get(metric)
    defined = [score for score in scores or () if score is not None]
    if scores is None or not defined:
        return f"the run keeps no scores of single items for {metric}"
    if not isclose(fmean(defined), result.metrics_results[metric], rel_tol=1e-9, abs_tol=1e-9):
        return f"{metric} is no mean of scores of single items"
    return ""
