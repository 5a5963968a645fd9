"""Answers as whole texts, bags of tokens, ranked diagnoses and classes, and how sure they are."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial

from medeval.metrics.concepts import Phrases
from medeval.metrics.metric import CJK, Sample, has_cjk, metric, rationale_of, text_of, vocabulary

# Runs of letters and digits, and each CJK character for itself.
_WORD = re.compile(f"[{CJK}]|[^\\W_{CJK}]+")

_EDGE_CATEGORIES = ("Ps", "Pe", "Pi", "Pf")
# Not %, +, * or a hyphen: "5%" is not 5, and "Rh-" not Rh.
_EDGE_CHARACTERS = frozenset(" .,;:!?'\"…。、·¿¡")


def normalised(text: str) -> str:
    """Return the text in compatibility form, caseless, single-spaced, without edge punctuation."""
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    brackets = {one for one in text if unicodedata.category(one) in _EDGE_CATEGORIES}
    return text.strip("".join(brackets | _EDGE_CHARACTERS))


def tokens(text: str) -> list[str]:
    """Return the normalised tokens of a text; each CJK character is one."""
    bare = filter(None, map(normalised, normalised(text).split()))
    return [token for run in bare for token in (_WORD.findall(run) if has_cjk(run) else [run])]


@metric("exact_match", "accuracy", of_texts=True)
def exact_match(reference: str, hypothesis: str) -> float | None:
    """Return 1 if both normalised texts are equal, else 0; None without a reference."""
    wanted = normalised(reference)
    return float(wanted == normalised(hypothesis)) if wanted else None


@metric("token_f1", of_texts=True)
def token_f1(reference: str, hypothesis: str) -> float | None:
    """Return the F1 of two bags of tokens; None without a reference."""
    wanted, given = Counter(tokens(reference)), Counter(tokens(hypothesis))
    if not wanted:
        return None
    return 2 * (wanted & given).total() / (wanted.total() + given.total())


@metric("reasoning_quality")
def rationale_f1(item: Sample) -> float | None:
    """Return the token F1 of the rationale; None if the reference has none."""
    return token_f1(rationale_of(item.reference), rationale_of(item.output))


class Synonyms:
    """Names of one disease, of which the first stands for all."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        """Take full names with their abbreviations and other names.

        Raises:
            ValueError: one name for two diseases.
        """
        spellings = {normalised(full): [full, *others] for full, others in names.items()}
        self._names = Phrases(spellings, split=lambda name: normalised(name).split())

    def expanded(self, diagnosis: str) -> str:
        """Return the normalised diagnosis with every known name in its full form.

        A bracket that only gives the abbreviation of what stands before it says nothing more.
        """
        text = normalised(diagnosis)
        before, _, rest = text.partition("(")
        inside, _, after = rest.partition(")")
        name, repeated = self._in_full(before), self._in_full(normalised(inside))
        return self._in_full(f"{before} {after}" if name.endswith(repeated) else text)

    def _in_full(self, text: str) -> str:
        words = text.split()
        for start, end, full in sorted(self._names.places(words), reverse=True):
            words[start:end] = [full]
        return " ".join(words)


@cache
def common_synonyms() -> Synonyms:
    """Return the abbreviations of common diagnoses that come with this package."""
    return Synonyms(vocabulary("diagnoses"))


@metric("clinical_correctness", "diagnostic_accuracy", of_texts=True)
def same_diagnosis(reference: str, hypothesis: str, *, synonyms: Synonyms) -> float | None:
    """Return 1 if both mean one diagnosis, else 0; None without a reference."""
    wanted = synonyms.expanded(reference)
    return float(wanted == synonyms.expanded(hypothesis)) if wanted else None


@metric("mrr")
def reciprocal_rank(item: Sample, *, synonyms: Synonyms) -> float | None:
    """Return 1 over the gold's place in the ranking, 0 if it is not there; None without a gold.

    The diagnosis itself is the first choice, wherever it stands in `differential_diagnosis`. One
    who gives no differential has named one diagnosis, and is not spared the question. Two names of
    one diagnosis take one place.
    """
    if not (wanted := synonyms.expanded(item.reference_text)):
        return None
    listed = item.output.get("differential_diagnosis")
    further = listed if isinstance(listed, (list, tuple)) else [listed]
    named = [text for one in further if normalised(text := text_of(one))]
    own = [item.output_text] if normalised(item.output_text) else []
    distinct = list(dict.fromkeys(map(synonyms.expanded, own + named)))
    return 1 / (distinct.index(wanted) + 1) if wanted in distinct else 0.0


def _among_the_first(k: int, item: Sample, *, synonyms: Synonyms) -> float | None:
    found = reciprocal_rank(item, synonyms=synonyms)
    return None if found is None else float(found >= 1 / k)


for _k in (1, 3, 5):
    metric(f"top_{_k}")(partial(_among_the_first, _k))


def _macro_average(part: int, counts: Mapping[tuple[str, str], int]) -> float | None:
    """Return precision, recall or F1 as an unweighted mean over the references' classes.

    An answer that is none of them is a miss of its reference and makes no class of its own. A class
    that is never given has precision 0. None without a class.

    Args:
        part: 0 for precision, 1 for recall, 2 for F1.
        counts: how often each pair of class wanted and class given occurs.
    """
    wanted, given = Counter[str](), Counter[str]()
    for (reference, hypothesis), times in counts.items():
        wanted[reference] += times
        given[hypothesis] += times
    # Sorted, so that the sum does not depend on the order of the items.
    shares = [
        (1, 1, 2)[part]
        * counts.get((one, one), 0)
        / (given[one] or 1, wanted[one], wanted[one] + given[one])[part]
        for one in sorted(wanted)
    ]
    return sum(shares) / len(shares) if shares else None


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
    confidence, correct = np.repeat(list(counts), list(counts.values()), axis=0).T
    weights = np.ones((1, len(confidence)))
    return float(binary.expected_calibration_error(correct == 1, confidence, weights)[0])


@metric("expected_calibration_error", pool=expected_calibration_error)
def confidence_and_correctness(item: Sample, *, synonyms: Synonyms) -> tuple[float, float] | None:
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
def brier(item: Sample, *, synonyms: Synonyms) -> float | None:
    """Return the Brier score of one answer: 0 is best, 1 worst."""
    pair = confidence_and_correctness(item, synonyms=synonyms)
    return None if pair is None else (pair[0] - pair[1]) ** 2
