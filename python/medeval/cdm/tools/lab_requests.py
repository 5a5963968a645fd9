"""From the words of a request to names of laboratory tests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from medeval.cdm.lab_facts import LabFacts

_PARENTHESIS = re.compile(r"[()]")
_SEPARATOR = re.compile(r"\band\b|[\n;&•]", re.IGNORECASE)
_REFERENCE_SEPARATOR = re.compile(r"\band\b|\n")
# Bullets before a name, and an article; what ends a sentence behind it.
_BEFORE_NAME = re.compile(r"^[\s\-*.:]*(?:an?\s+)?", re.IGNORECASE)
_AFTER_NAME = " .:?!"
# What numbers the names of a list: at the start of a line, or behind another name's end.
_NUMBER = re.compile(r"(?:^|[\n,;])[^\S\n]*\(?\d{1,2}[.)](?=\s)")
_NUMBER_WITHIN = re.compile(r"(?<!\S)\(?\d{1,2}[.)](?=\s)")
# The reference means an article, and takes the letter out of any name.
_REFERENCE_ARTICLE = re.compile(r"\bA\s")


def requested_names(request: str | Sequence[str], facts: LabFacts, version: int) -> list[str]:
    """Return the names of the tests that a request asks for, in its order.

    Names are set apart by commas outside parentheses, by "and" and by line breaks, in version 2
    by semicolons, ampersands, bullets and the numbers of a list too; a list of strings is a request
    as well.

    Args:
        request: what the model wrote.
        facts: the words that only fill a request.
        version: 1 for the reference's behaviour, 2 for the repaired one.
    """
    text = request if isinstance(request, str) else "\n".join(request)
    if version != 1:
        is_list = _NUMBER.match(text) is not None
        text = (_NUMBER_WITHIN if is_list else _NUMBER).sub("\n", text)
    fillers = "|".join(map(re.escape, facts.fillers_anywhere))
    text = re.sub(rf"\b(?:{fillers})\b", "", text, flags=re.IGNORECASE)
    text = (_REFERENCE_SEPARATOR if version == 1 else _SEPARATOR).sub(",", text)
    words = text.split()
    text = " ".join(word for word in words if word.lower() not in facts.fillers_between_blanks)
    if version == 1:
        names = map(str.strip, _between_commas(_REFERENCE_ARTICLE.sub("", text)))
    else:
        names = map(_bare, _between_commas(text))
    return [name for name in names if name]


def _bare(name: str) -> str:
    return _BEFORE_NAME.sub("", name).rstrip(_AFTER_NAME)


def _between_commas(text: str) -> list[str]:
    """Split at commas; one behind which parentheses close belongs to a name."""
    names: list[list[str]] = [[]]
    next_parenthesis = ""
    for part in reversed(text.split(",")):
        if next_parenthesis != ")" and names[-1]:
            names.append([])
        names[-1].append(part)
        found = _PARENTHESIS.search(part)
        next_parenthesis = found[0] if found else next_parenthesis
    return [",".join(reversed(parts)) for parts in reversed(names)]
