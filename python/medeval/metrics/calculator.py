"""The richer functions of the project these task models come from, kept number for number.

A pair without an output, or without what it is compared with, has no score (None).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from medeval.metrics.item import rationale_of
from medeval.metrics.rouge import plain_rouge_l

Record = Mapping[str, Any]

_DROPPED = str.maketrans("", "", ".,!?;:-()[]{}'\"")


def same_or_contained(reference: Record, output: Record, key: str) -> float | None:
    """Return 1 if one normalised answer equals or contains the other, else 0."""
    wanted, given = _text(reference.get(key)), _text(output.get(key))
    if not wanted or not given:
        return None
    one, other = normalised(wanted), normalised(given)
    return float(one in other or other in one)


def rationale_overlap(reference: Record, output: Record) -> float | None:
    """Return the token F1 of the reasons given."""
    wanted, given = rationale_of(reference), rationale_of(output)
    return multiset_f1(wanted, given) if wanted and given else None


def summary_overlap(reference: Record, output: Record, key: str) -> float | None:
    """Return the token F1 of two texts; an empty reference scores 0, a missing one nothing."""
    pair = _summaries(reference, output, key)
    return None if pair is None else multiset_f1(*pair)


def summary_rouge_l(reference: Record, output: Record, key: str) -> float | None:
    """Return ROUGE-L of two texts by the package's own tokenizer, F with stemming."""
    pair = _summaries(reference, output, key)
    return None if pair is None else plain_rouge_l(*pair)


def note_overlap(reference: Record, output: Record, key: str) -> float | None:
    """Return the Jaccard index of the output's token set and that of the reference's `note`."""
    note, given = _text(reference.get("note")), _text(output.get(key))
    if not note or not given:
        return None
    one, other = set(normalised(note).split()), set(normalised(given).split())
    return len(one & other) / len(one | other) if one | other else 0.0


def multiset_f1(reference: str, hypothesis: str) -> float:
    """Return the F1 of two bags of normalised tokens; 0 if they share none."""
    wanted, given = Counter(normalised(reference).split()), Counter(normalised(hypothesis).split())
    shared = (wanted & given).total()
    return 2 * shared / (wanted.total() + given.total()) if shared else 0.0


def normalised(text: str) -> str:
    """Return the text in lower case, with single spaces and without common punctuation."""
    return " ".join(text.lower().split()).translate(_DROPPED)


def mean_of_defined(scores: Iterable[float | None]) -> float:
    """Return the mean of the scores there are; NaN without any."""
    defined = [score for score in scores if score is not None]
    return math.fsum(defined) / len(defined) if defined else math.nan


def _summaries(reference: Record, output: Record, key: str) -> tuple[str, str] | None:
    given = _text(output.get(key))
    if not given or reference.get(key) is None:
        return None
    return _text(reference[key]), given


def _text(value: object) -> str:
    return "" if value is None else str(value)
