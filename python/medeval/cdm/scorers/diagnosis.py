"""Is the diagnosis right, or nearly?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from medeval.cdm.facts import Facts
from medeval.cdm.scorers.keywords import Keywords
from medeval.cdm.scorers.pairs import has_pair

# How like the pathology's name a word must be, of 100: above it.
RATIO = 90
_WORD = re.compile(r"[^\W_]+")


def diagnosis_scores(diagnosis: str, pathology: str, facts: Facts, version: int) -> tuple[int, int]:
    """Return the points for the diagnosis and for the gracious diagnosis, 0 or 1 each.

    It is right by a word that is spelt much like the pathology, or by a place and a change that
    together mean it; nearly right by a more lenient pair. An answer that names several diagnoses
    is right if one of them is, as in the reference.

    Version 1 does as the reference: it keeps punctuation with the words, accepts no misspelling,
    looks for a negation of the answer within the pathology's name, where none can be, and takes a
    place and a change from anywhere in the answer.
    """
    keywords = Keywords(facts, version)
    answer = diagnosis.lower()

    def has_one(pairs: Sequence[tuple[str, str]]) -> bool:
        if version == 1:
            return any(all(keywords.affirmed(answer, stem) for stem in pair) for pair in pairs)
        return has_pair(answer, pairs, facts.other_organs.get(pathology, ()), keywords)

    if _is_named(answer, pathology, keywords, version) or has_one(
        facts.correct_diagnoses.get(pathology, ())
    ):
        return 1, 1
    return 0, int(has_one(facts.gracious_diagnoses.get(pathology, ())))


def _is_named(answer: str, pathology: str, keywords: Keywords, version: int) -> bool:
    if version == 1:
        return any(
            _is_spelt_like(word, pathology) and keywords.affirmed(pathology, word)
            for word in answer.split()
        )
    return any(
        _is_spelt_like(word[0], pathology) and not keywords.is_negated(answer, word.span())
        for word in _WORD.finditer(answer)
    )


def _is_spelt_like(word: str, pathology: str) -> bool:
    from rapidfuzz import fuzz

    return round(fuzz.ratio(word, pathology)) > RATIO
