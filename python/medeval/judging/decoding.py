"""JSON objects in a reply that may be wrapped in prose, fenced, slightly wrong or cut off."""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from medeval.models.surrogates import whole_json

# Not strict: raw line breaks inside strings are common and harmless.
_DECODER = json.JSONDecoder(strict=False)
_COMMA_BEFORE_CLOSER = re.compile(r",(?=\s{0,100}[}\]])")
_OPENING = re.compile(r"\{(?=\s*[\"}])")
_AFTER_VALUE = re.compile(r"\s{0,100}[,}\]]")
# After so many values that are nested too deep to be read, a text is no reply of a judge.
_MOST_TOO_DEEP = 20
_WINDOW = 4096


class Candidate(NamedTuple):
    """An object that could be a verdict.

    Attributes:
        members: of it, keys trimmed and in lower case.
        start: where it begins in the text.
        end: where it ends, exclusive.
    """

    members: dict[str, Any]
    start: int
    end: int


def candidates(text: str, names: Sequence[str]) -> list[Candidate]:
    """Return the objects that could be a verdict, in their order.

    An object with one key is looked into: some judges wrap their verdict.

    Args:
        text: of the reply.
        names: of the dimensions.
    """
    found = []
    for each, start, end in _placed_objects(text):
        verdict = folded(each)
        if len(verdict) == 1 and not set(verdict) & set(names):
            (inner,) = verdict.values()
            verdict = folded(inner) if isinstance(inner, Mapping) else {}
        if set(verdict) & set(names):
            found.append(Candidate(verdict, start, end))
    return found


def has_unfinished(text: str, names: Sequence[str], after: Candidate) -> bool:
    """Tell whether behind a candidate another one begins that does not come to its end."""
    either = "|".join(map(re.escape, names))
    opening = re.compile(rf'\{{\s{{0,99}}"\s{{0,9}}(?:{either})\s{{0,9}}"', re.IGNORECASE)
    is_inside = _insides(text)
    return any(not is_inside(match.start()) for match in opening.finditer(text, after.end))


def pieces(text: str, marker: str) -> list[str]:
    """Return what stands before, between and behind the markers of a text, in whatever case.

    A marker inside a JSON object is a part of that object and divides nothing.
    """
    is_inside = _insides(text)
    found, begin = [], 0
    for match in re.finditer(re.escape(marker), text, re.IGNORECASE):
        if not is_inside(match.start()):
            found.append(text[begin : match.start()])
            begin = match.end()
    return [*found, text[begin:]]


def _insides(text: str) -> Callable[[int], bool]:
    """Return what tells whether a place of a text is a part of one of its JSON objects."""
    starts, ends = [], []
    for _, start, end in _placed_objects(text):
        starts.append(start)
        ends.append(end)

    def is_inside(place: int) -> bool:
        before = bisect(starts, place) - 1
        return before >= 0 and place < ends[before]

    return is_inside


def _placed_objects(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Yield the JSON objects of a text with begin and end; of nested ones only the outer."""
    values = _Values(text)
    end = 0
    while (opening := _OPENING.search(text, end)) is not None:
        start, end = opening.span()
        if (read := values.at(start)) is not None:
            value, end = read
            yield value, start, end


class _Values:
    """Reads JSON values at given places of a text, in time that grows with the text alone.

    Args:
        text: in which they stand; places only ever come further behind.
    """

    def __init__(self, text: str) -> None:
        self._rest = text
        # Without an escape a text in ASCII has no half of a surrogate pair.
        self._is_whole = text.isascii() and "\\u" not in text
        self._begin = 0
        self._too_deep = 0

    def at(self, place: int) -> tuple[Any, int] | None:
        """Return the value that begins at a place, and where it ends; None if there is none."""
        if self._too_deep >= _MOST_TOO_DEEP:
            return None
        # For every error the decoder counts the lines from the beginning of what it was given.
        if place - self._begin >= _WINDOW:
            self._rest = self._rest[place - self._begin :]
            self._begin = place
        try:
            value, end = _DECODER.raw_decode(self._rest, place - self._begin)
            return value if self._is_whole else whole_json(value), end + self._begin
        except RecursionError:
            self._too_deep += 1
        except ValueError:
            pass
        return None


def without_trailing_commas(text: str) -> str:
    """Return the text without commas that stand before a closing bracket."""
    return _COMMA_BEFORE_CLOSER.sub("", text)


def complete_members(text: str, names: Sequence[str], is_marked: bool) -> dict[str, Any]:
    """Return the dimensions of a broken or cut-off verdict that are complete in themselves.

    Args:
        text: of the reply.
        names: of the dimensions.
        is_marked: the verdict comes first: where a dimension comes again, another begins.
    """
    either = "|".join(map(re.escape, names))
    key = re.compile(rf'"\s{{0,9}}({either})\s{{0,9}}"\s{{0,9}}:\s{{0,99}}', re.IGNORECASE)
    values = _Values(text)
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for match in key.finditer(text):
        name = match[1].lower()
        if is_marked and name in seen:
            break
        seen.add(name)
        if (read := values.at(match.end())) is None:
            continue
        value, end = read
        # A number at the very end may have lost digits.
        if isinstance(value, Mapping) or _AFTER_VALUE.match(text, end):
            found[name] = value
    return found


def folded(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its keys trimmed and in lower case."""
    return {key.strip().lower(): each for key, each in value.items()}
