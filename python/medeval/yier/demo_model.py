"""A model that needs no network: it answers questions by rules from their text alone.

It stands in for a model in demonstrations and tests. What it scores says nothing but that the way
from question to score works.
"""

from __future__ import annotations

import re
from itertools import pairwise

from medeval.yier.questions import Record

# An option is chosen if its words are in the question at least so well as those of the best one.
_CLOSE = 0.75
_ASKS_FOR_THE_EXCEPTION = re.compile(
    r"不正确|不属于|不包括|不是|错误|除外|\b(?:except|not|incorrect|false|least)\b", re.IGNORECASE
)
_ALL = re.compile(r"以上(?:均|都|全)|all of the above", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9.%/]+|[^\W\d_]", re.IGNORECASE)


def choose(record: Record) -> tuple[int, ...]:
    """Return the places of the options that the rules choose; the gold answers are not looked at.

    An option that says all of the above is chosen. Else it is those whose words are found in
    question and context; where the question asks for the exception, the one that is found least.
    """
    options = record.selection
    everything = [place for place, text in enumerate(options) if _ALL.search(text)]
    if everything:
        return (everything[0],)
    told = _pairs(f"{record.context or ''}\n{record.question}")
    found = [_share(_pairs(text), told) for text in options]
    if _ASKS_FOR_THE_EXCEPTION.search(record.question):
        return (found.index(min(found)),)
    best = max(found)
    if best == 0:
        longest = max(len(text) for text in options)
        return (next(place for place, text in enumerate(options) if len(text) == longest),)
    return tuple(place for place, share in enumerate(found) if share >= _CLOSE * best)


def _pairs(text: str) -> set[tuple[str, ...]]:
    """Return the words of a text, of Chinese signs each two that stand together."""
    words = [word.lower() for word in _WORD.findall(text)]
    single = {(word,) for word in words if len(word) > 1}
    return single | {pair for pair in pairwise(words) if max(map(len, pair)) == 1}


def _share(words: set[tuple[str, ...]], told: set[tuple[str, ...]]) -> float:
    return len(words & told) / len(words) if words else 0.0
