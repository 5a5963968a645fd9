"""From the words of a request to names of laboratory tests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from medeval.cdm.lab_facts import LabFacts

# A comma between parentheses belongs to a name.
_COMMA = re.compile(r",\s*(?![^()]*\))")
_SEPARATOR = re.compile(r"\band\b|[\n;&•]", re.IGNORECASE)
_REFERENCE_SEPARATOR = re.compile(r"\band\b|\n")
# Bullets before a name, and an article; what ends a sentence behind it.
_BEFORE_NAME = re.compile(r"^[\s\-*.:]*(?:an?\s+)?", re.IGNORECASE)
_AFTER_NAME = re.compile(r"[\s.:?!]+$")
# The reference means an article, and takes the letter out of any name.
_REFERENCE_ARTICLE = re.compile(r"\bA\s")


def requested_names(request: str | Sequence[str], facts: LabFacts, version: int) -> list[str]:
    """Return the names of the tests that a request asks for, in its order.

    Names are set apart by commas outside parentheses, by "and" and by line breaks, in version 2
    by semicolons, ampersands and bullets too; a list of strings is a request as well.

    Args:
        request: what the model wrote.
        facts: the words that only fill a request.
        version: 1 for the reference's behaviour, 2 for the repaired one.
    """
    text = request if isinstance(request, str) else "\n".join(request)
    fillers = "|".join(map(re.escape, facts.fillers_anywhere))
    text = re.sub(rf"\b(?:{fillers})\b", "", text, flags=re.IGNORECASE)
    text = (_REFERENCE_SEPARATOR if version == 1 else _SEPARATOR).sub(",", text)
    words = text.split()
    text = " ".join(word for word in words if word.lower() not in facts.fillers_between_blanks)
    if version == 1:
        names = map(str.strip, _COMMA.split(_REFERENCE_ARTICLE.sub("", text)))
    else:
        names = map(_bare, _COMMA.split(text))
    return [name for name in names if name]


def _bare(name: str) -> str:
    return _AFTER_NAME.sub("", _BEFORE_NAME.sub("", name))
