"""Objects in a judge's reply that could be its verdict, and the complete parts of a broken one."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from medeval.text import fitting, objects_in, values_from
from medeval.tolerant_json import Allowances, NotJsonError

# The strings of a verdict are JSON's own. In the benchmark's judge cases a verdict in single quotes
# is none, and one with quotes inside a string has only its complete parts.
VERDICT = Allowances(python=False, inner_quotes=False)
_AFTER_VALUE = re.compile(r"\s{0,100}[,}\]]")


class Candidate(NamedTuple):
    """An object that could be a verdict, or what is complete of one.

    Attributes:
        members: of it, by folded key.
        start: where it begins in the text.
        end: where it ends, exclusive.
        is_clear: no key stands in it twice.
        is_strict: it is JSON as it stands.
    """

    members: dict[str, Any]
    start: int
    end: int
    is_clear: bool
    is_strict: bool


def candidates(text: str, names: Sequence[str]) -> list[Candidate]:
    """Return the objects that could be a verdict or wrap one, in their order.

    Args:
        text: of the reply.
        names: of the dimensions.
    """
    found = []
    for read in objects_in(text, VERDICT):
        verdict = fitting(read, set(names).intersection, VERDICT)
        if verdict is not None:
            place = read.start, read.end
            found.append(Candidate(verdict.members, *place, verdict.is_clear, read.is_strict))
    return found


def complete_members(text: str, names: Sequence[str]) -> list[Candidate]:
    """Return the dimensions of broken or cut-off verdicts that are complete in themselves.

    Args:
        text: of the reply.
        names: of the dimensions.
    """
    either = "|".join(map(re.escape, names))
    key = re.compile(rf'"\s{{0,9}}({either})\s{{0,9}}"\s{{0,9}}:\s{{0,99}}', re.IGNORECASE)
    is_inside = _inside((read.start, read.end) for read in objects_in(text, VERDICT))
    value_at = values_from(text, VERDICT)
    found = []
    for match in key.finditer(text):
        if is_inside(match.start()):
            continue
        try:
            read = value_at(match.end())
        except NotJsonError as error:
            if error.resume is None and error.place < len(text):
                break  # nested too deeply, or broken too often
            continue
        # A number at the very end may have lost digits.
        if isinstance(read.value, Mapping) or _AFTER_VALUE.match(text, read.end):
            members = {match[1].lower(): read.value}
            found.append(Candidate(members, match.start(), read.end, read.is_clear, False))
    return found


def pieces(text: str, marker: str, names: Sequence[str]) -> list[str]:
    """Return what stands before, between and behind the markers of a text, in whatever case.

    A marker inside an object, or inside a complete part of a broken one, divides nothing.
    """
    marks = list(re.finditer(re.escape(marker), text, re.IGNORECASE))
    if not marks:
        return [text]
    spans = [(read.start, read.end) for read in objects_in(text, VERDICT)]
    spans += [(part.start, part.end) for part in complete_members(text, names)]
    is_inside = _inside(spans)
    found, begin = [], 0
    for match in marks:
        if not is_inside(match.start()):
            found.append(text[begin : match.start()])
            begin = match.end()
    return [*found, text[begin:]]


def _inside(spans: Iterable[tuple[int, int]]) -> Callable[[int], bool]:
    """Return what tells whether a place of a text lies in one of some spans."""
    ordered = sorted(spans)
    starts = [start for start, _ in ordered]
    ends = list(accumulate((end for _, end in ordered), max))

    def is_inside(place: int) -> bool:
        before = bisect(starts, place) - 1
        return before >= 0 and place < ends[before]

    return is_inside
