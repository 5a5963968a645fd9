"""Is the diagnosis right, or nearly?"""

from __future__ import annotations

import re

from medeval.cdm.facts import Facts
from medeval.cdm.scorers.keywords import Keywords

# How like the pathology's name a word must be, of 100: above it.
RATIO = 90
_WORD = re.compile(r"[^\W_]+")


def diagnosis_scores(diagnosis: str, pathology: str, facts: Facts, version: int) -> tuple[int, int]:
    """Return the points for the diagnosis and for the gracious diagnosis, 0 or 1 each.

    It is right by a word that is spelt much like the pathology, or by a place and a change that
    together mean it; nearly right by a more lenient pair. Version 1 does as the reference: it
    keeps punctuation with the words, accepts no misspelling, and looks for a negation of the
    answer within the pathology's name, where none can be.
    """
    keywords = Keywords(facts.negations, version)
    answer = diagnosis.lower()
    if _is_named(answer, pathology, keywords, version) or _has_pair(
        answer, facts.correct_diagnoses.get(pathology, ()), keywords
    ):
        return 1, 1
    return 0, int(_has_pair(answer, facts.gracious_diagnoses.get(pathology, ()), keywords))


def _is_named(answer: str, pathology: str, keywords: Keywords, version: int) -> bool:
    if version == 1:
        return any(
            _is_spelt_like(word, pathology) and keywords.affirmed(pathology, word)
            for word in answer.split()
        )
    return any(
        _is_spelt_like(word[0], pathology) and not keywords.is_negated(answer, word.start())
        for word in _WORD.finditer(answer)
    )


def _is_spelt_like(word: str, pathology: str) -> bool:
    from rapidfuzz import fuzz

    return round(fuzz.ratio(word, pathology)) > RATIO


def _has_pair(answer: str, pairs: tuple[tuple[str, str], ...], keywords: Keywords) -> bool:
    return any(all(keywords.affirmed(answer, stem) for stem in pair) for pair in pairs)
