"""Objects in a judge's reply that could be its verdict, and the complete parts of a broken one."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter

from medeval.json_reader import Allowances, Found, NotJsonError, Values, fitting, objects_in

# The strings of a verdict are JSON's own. In the benchmark's judge cases a verdict in single quotes
# is none, and one with quotes inside a string has only its complete parts.
VERDICT = Allowances(python=False, inner_quotes=False)
_AFTER_VALUE = re.compile(r"\s{0,100}[,}\]]")


def candidates(text: str, names: Sequence[str]) -> list[Found]:
    """Return the objects that could be a verdict or wrap one, in their order.

    Args:
        text: of the reply.
        names: of the dimensions.
    """
    tried = (fitting(read, set(names).intersection, VERDICT) for read in objects_in(text, VERDICT))
    return [found for found in tried if found is not None]


def complete_members(text: str, names: Sequence[str]) -> list[Found]:
    """Return the dimensions of broken or cut-off verdicts that are complete in themselves.

    Args:
        text: of the reply.
        names: of the dimensions.
    """
    either = "|".join(map(re.escape, names))
    key = re.compile(rf'"\s{{0,9}}({either})\s{{0,9}}"\s{{0,9}}:\s{{0,99}}', re.IGNORECASE)
    is_inside = _inside((read.start, read.end) for read in objects_in(text, VERDICT))
    values = Values(text, VERDICT)
    found = []
    for match in key.finditer(text):
        if is_inside(match.start()):
            continue
        try:
            read = values.at(match.end())
        except NotJsonError as error:
            if error.resume is None and error.place < len(text):
                break  # nested too deeply, or broken too often
            continue
        # A number at the very end may have lost digits.
        if isinstance(read.value, Mapping) or _AFTER_VALUE.match(text, read.end):
            part = read._replace(start=match.start(), is_strict=False)
            found.append(Found({match[1].lower(): read.value}, part, read.is_clear))
    return found


def pieces(text: str, marker: str, names: Sequence[str]) -> list[str]:
    """Return what stands before, between and behind the markers of a text, in whatever case.

    A marker inside an object, or inside a complete part of a broken one, divides nothing.
    """
    marks = list(re.finditer(re.escape(marker), text, re.IGNORECASE))
    if not marks:
        return [text]
    spans = [(read.start, read.end) for read in objects_in(text, VERDICT)]
    parts = [(part.read.start, part.read.end) for part in complete_members(text, names)]
    is_inside = _inside(spans + parts)
    found, begin = [], 0
    for match in marks:
        if not is_inside(match.start()):
            found.append(text[begin : match.start()])
            begin = match.end()
    return [*found, text[begin:]]


def _inside(spans: Iterable[tuple[int, int]]) -> Callable[[int], bool]:
    """Return what tells whether a place of a text lies in one of some spans."""
    ordered = sorted(spans)
    ends = list(accumulate((end for _, end in ordered), max))

    def is_inside(place: int) -> bool:
        before = bisect(ordered, place, key=itemgetter(0)) - 1
        return before >= 0 and place < ends[before]

    return is_inside
