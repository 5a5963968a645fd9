"""Answers as classes, and how far a stated confidence is a probability of being right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from medeval.metrics.matching import Synonyms, normalised, same_diagnosis
from medeval.metrics.metric import Item, metric


def _macro_average(part: int, counts: Mapping[tuple[str, str], int]) -> float | None:
    """Return precision, recall or F1 as an unweighted mean over the references' classes.

    An answer that is none of them is a miss of its reference and makes no class of its own. A class
    that is never given has precision 0. None without a class.

    Args:
        part: 0 for precision, 1 for recall, 2 for F1.
        counts: how often each pair of class wanted and class given occurs.
    """
    wanted: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for (reference, hypothesis), times in counts.items():
        wanted[reference] += times
        given[hypothesis] += times
    # Sorted, so that the sum does not depend on the order of the items.
    by_class = [
        (right / (given[one] or 1), right / wanted[one], 2 * right / (wanted[one] + given[one]))
        for one in sorted(wanted)
        for right in (counts.get((one, one), 0),)
    ]
    return sum(one[part] for one in by_class) / len(by_class) if by_class else None


def classes(reference: str, hypothesis: str) -> tuple[str, str] | None:
    """Return the class wanted and the class given; None without a reference."""
    wanted = normalised(reference)
    return (wanted, normalised(hypothesis)) if wanted else None


for _place, _name in enumerate(("precision", "recall", "f1")):
    metric(_name, of_texts=True, pool=partial(_macro_average, _place))(classes)


def expected_calibration_error(counts: Mapping[tuple[float, float], int]) -> float | None:
    """Return the mean distance of confidence and accuracy over ten bins; 0 is best.

    Args:
        counts: how often each pair of confidence and correctness (1 or 0) occurs.
    """
    import numpy as np

    from medeval.scoring import binary

    if not counts:
        return None
    pairs = np.array(list(counts), dtype=np.float64)
    times = np.array(list(counts.values()), dtype=np.int64)
    confidence = np.repeat(pairs[:, 0], times)
    correct = np.repeat(pairs[:, 1], times) == 1
    weights = np.ones((1, len(confidence)))
    error = float(binary.expected_calibration_error(correct, confidence, weights)[0])
    return None if math.isnan(error) else error


@metric("expected_calibration_error", pool=expected_calibration_error)
def confidence_and_correctness(item: Item, *, synonyms: Synonyms) -> tuple[float, float] | None:
    """Return the stated confidence and whether the diagnosis is right; None without either."""
    stated = item.output.get("confidence")
    correct = same_diagnosis(item.reference_text, item.output_text, synonyms=synonyms)
    if isinstance(stated, bool) or not isinstance(stated, (int, float, str)) or correct is None:
        return None
    with suppress(ValueError):
        if 0 <= float(stated) <= 1:
            return float(stated), correct
    return None


@metric("brier")
def brier(item: Item, *, synonyms: Synonyms) -> float | None:
    """Return the Brier score of one answer: 0 is best, 1 worst."""
    pair = confidence_and_correctness(item, synonyms=synonyms)
    return None if pair is None else (pair[0] - pair[1]) ** 2
