"""A model that needs no network: a plan put together from the note's own sentences.

It stands in for a model in demonstrations and tests. What it earns says nothing but that the way
from note to reward works.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"[^.\n]+\.")
_HEADING = re.compile(r"^[A-Z][A-Za-z /&-]*:\s*")
_WORTH_REPEATING = re.compile(
    r"diagnos|follow|return|medicat|antibiot|pain|continue|recommend|procedure|complication",
    re.IGNORECASE,
)
_MOST = 4
_ALWAYS = (
    "Observe until awake and stable.",
    "Give medication for pain as needed.",
    "Follow up in clinic in one to two weeks.",
    "Return at once for fever, bleeding or worsening pain.",
)


def plan(question: str) -> str:
    """Return a plan: what the note says about diagnosis and course, and what is usual."""
    sentences = [_HEADING.sub("", found.strip()) for found in _SENTENCE.findall(question)]
    told = [sentence for sentence in sentences if _WORTH_REPEATING.search(sentence)]
    return " ".join([*told[-_MOST:], *_ALWAYS])
