"""A place and a change that together mean a pathology, as a clinician reads them (version 2).

The reference asks for both anywhere in the answer. Here they stand in one clause, the place is not
said to be normal, and no other organ stands nearer to the change: "perforated ulcer, gallbladder
polyp" says nothing of an inflamed gallbladder.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from medeval.cdm.scorers.keywords import Keywords, Span, mentions

_CLAUSE_END = re.compile(
    r"[.;!?](?=\s|$)|\n|\b(?:but|however|although|though|except|while|whereas)\b"
)
_BETWEEN = re.compile(r"\w+|[,:()\u2013\u2014]")
# Words that part nothing: "infection of the urinary tract" is nearest to the urinary tract.
_LINKS = frozenset(("of", "the", "a", "an", "in", "within", "at", "to", "from", "and", "or"))
# Two organs with nothing else between them share what is said: "inflamed gallbladder and appendix".
_JOINED = frozenset(("and", "or", "the"))
# A punctuation mark parts more than a word.
_MARK = 2


def has_pair(
    answer: str,
    pairs: Iterable[tuple[str, str]],
    other_organs: Sequence[str],
    keywords: Keywords,
) -> bool:
    """Tell whether an answer in lower case has a place and a change that belong together.

    Args:
        answer: the answer.
        pairs: stems of a place and of a change.
        other_organs: beginnings of words for organs that are none of the places.
        keywords: the search of version 2.
    """
    mentioned = [pair for pair in pairs if all(mentions(answer, stem) for stem in pair)]
    return bool(mentioned) and any(
        _belongs(clause, place, change, other_organs, keywords)
        for clause in _CLAUSE_END.split(answer)
        for place, change in mentioned
    )


def _belongs(
    clause: str, place: str, change: str, other_organs: Sequence[str], keywords: Keywords
) -> bool:
    changes = list(keywords.mentions(clause, change))
    places = changes and [
        one for one in keywords.mentions(clause, place) if not keywords.is_normal(clause, one)
    ]
    if not places:
        return False
    stems = "|".join(map(re.escape, other_organs))
    others = [found.span() for found in re.finditer(rf"\b(?:{stems})", clause)] if stems else []
    return any(
        not any(_is_nearer(clause, other, one, span) for other in _neighbours(others, span))
        for span in changes
        for one in _neighbours(places, span)
    )


def _neighbours(spans: Sequence[Span], around: Span) -> Sequence[Span]:
    """Return the last of some places before another place, and the first behind it."""
    place = bisect_left(spans, around)
    return spans[max(0, place - 1) : place + 1]


def _is_nearer(clause: str, other: Span, place: Span, change: Span) -> bool:
    """Tell whether another organ takes a change away from a place."""
    between = set(_parts(clause, other, place))
    return not between <= _JOINED and _distance(clause, other, change) < _distance(
        clause, place, change
    )


def _distance(clause: str, one: Span, another: Span) -> int:
    parts = (part for part in _parts(clause, one, another) if part not in _LINKS)
    return sum(1 if part[0].isalnum() or part[0] == "_" else _MARK for part in parts)


def _parts(clause: str, one: Span, another: Span) -> list[str]:
    """Return words and marks between two mentions, without the rest of the first one's word."""
    first, second = sorted((one, another))
    between = clause[first[1] : max(first[1], second[0])]
    return _BETWEEN.findall(re.sub(r"^\w+|(?<!\w)\w+$", "", between))
