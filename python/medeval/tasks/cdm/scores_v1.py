"""Version 1 of the scores: what practical_cdm_benchmark does, with its faults, for parity.

It looks for a keyword with its blanks escaped, so that no keyword of several words is ever found; a
negation counts only right before the keyword, may be the tail of another word, and one negated
mention takes away all others. It keeps punctuation with the words of a diagnosis, accepts no
misspelling, and looks for a negation of the answer within the pathology's name, where none can be.
A category of tests may list an item that no request can mean, since only those of requests have
their synonyms replaced. Imaging is scored by the words of a request as they are, of invalid calls
too; "us" alone is known as ultrasound, and what adds to other imaging does so each time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from medeval.tasks.cdm.facts import Facts, LabNames
from medeval.tasks.cdm.negation import is_spelt_like, with_blanks

_AND = re.compile(r"\band\b|\n")
# The reference means an article, and takes the letter out of any name.
_ARTICLE = re.compile(r"\bA\s")
# A comma behind which parentheses close belongs to a name.
_COMMA = re.compile(r",(?![^()]*\))")

_NOT_TOLD = ("Unnecessary Laboratory Tests",)
# The reference works it out later, and has it not among the scores of a case.
_LATER = "Treatment Requested"


def requested_items(request: str, names: LabNames) -> list[int]:
    """Return the items of the tests that a request names, each once, as the reference reads it.

    Names are set apart by commas outside parentheses, by "and" and by line breaks; a name is only
    compared with panels and labels.
    """
    words = _AND.sub(",", names.facts.filler.sub("", request)).split()
    kept = (word for word in words if word.lower() not in names.facts.fillers_between_blanks)
    parts = map(str.strip, _COMMA.split(_ARTICLE.sub("", " ".join(kept))))
    found = (item for part in parts if part for item in names.items(part, can_be_exact=False))
    return list(dict.fromkeys(found))


def affirms(text: str, keyword: str, facts: Facts) -> bool:
    """Tell whether a text mentions a keyword that is not negated."""
    text, escaped = text.lower(), re.escape(keyword.lower())
    return escaped in text and not any(
        re.search(rf"{with_blanks(phrase)}\s+{escaped}", text) for phrase in facts.negations
    )


def diagnosis_scores(diagnosis: str, pathology: str, facts: Facts) -> tuple[int, int]:
    """Return the points for the diagnosis and for the gracious diagnosis, 0 or 1 each."""
    answer = diagnosis.lower()
    right, nearly = (
        any(all(affirms(answer, stem, facts) for stem in pair) for pair in of.get(pathology, ()))
        for of in (facts.correct_diagnoses, facts.gracious_diagnoses)
    )
    is_named = any(
        is_spelt_like(word, pathology) and affirms(pathology, word, facts)
        for word in answer.split()
    )
    return int(is_named or right), int(is_named or right or nearly)


def as_json(score: Mapping[str, Any]) -> dict[str, Any]:
    """Return of the score of a case the `answers` and `scores` of a line of the reference's."""
    answers = {key: told for key, told in score["answers"].items() if key not in _NOT_TOLD}
    return {
        "answers": answers,
        "scores": {name: told for name, told in score["scores"].items() if name != _LATER},
    }
