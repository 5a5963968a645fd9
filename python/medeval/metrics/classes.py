"""Precision, recall and F1 over classes, averaged so that each class weighs the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from medeval.metrics.matching import normalised

Pairs = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class MacroScores:
    """Unweighted means over the classes."""

    precision: float
    recall: float
    f1: float


def class_pair(reference: str, hypothesis: str) -> tuple[str, str] | None:
    """Return the class wanted and the class given; None without a reference."""
    wanted = normalised(reference)
    return (wanted, normalised(hypothesis)) if wanted else None


def macro_scores(pairs: Pairs) -> MacroScores | None:
    """Return the means over the classes that the references have; None without any.

    An answer that is none of them is a miss of its reference and makes no class of its own. A class
    that is never given has precision 0.

    Args:
        pairs: how often each pair of class wanted and class given occurs.
    """
    wanted: Counter[str] = Counter()
    given: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for (reference, hypothesis), times in pairs.items():
        wanted[reference] += times
        given[hypothesis] += times
        if reference == hypothesis:
            right[reference] += times
    if not wanted:
        return None
    # Sorted, so that the sum does not depend on the order of the items.
    classes = sorted(wanted)
    return MacroScores(
        sum(right[one] / given[one] if given[one] else 0.0 for one in classes) / len(classes),
        sum(right[one] / wanted[one] for one in classes) / len(classes),
        sum(2 * right[one] / (wanted[one] + given[one]) for one in classes) / len(classes),
    )
