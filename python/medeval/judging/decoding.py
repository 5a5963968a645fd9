"""JSON objects in a reply that may be wrapped in prose, fenced, slightly wrong or cut off."""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from medeval.text import whole_json

_COMMA_BEFORE_CLOSER = re.compile(r",(?=\s{0,100}[}\]])")
_OPENING = re.compile(r"\{(?=\s*(?:\}|\"[^\"\\]{0,200}\"\s{0,100}:))")
_AFTER_VALUE = re.compile(r"\s{0,100}[,}\]]")
# A text in which so many times its length is read in vain is no reply of a judge.
_MOST_IN_VAIN = 20
_WINDOW = 4096


class TangledError(ValueError):
    """A text is nested and broken so often that it cannot be read in a reasonable time."""


class Candidate(NamedTuple):
    """An object that could be a verdict, or what is complete of one.

    Attributes:
        members: of it, keys trimmed and in lower case.
        start: where it begins in the text.
        end: where it ends, exclusive.
        is_clear: no key stands in it twice.
    """

    members: dict[str, Any]
    start: int
    end: int
    is_clear: bool


def candidates(text: str, names: Sequence[str]) -> list[Candidate]:
    """Return the objects that could be a verdict, in their order.

    An object with one key is looked into: some judges wrap their verdict.

    Args:
        text: of the reply.
        names: of the dimensions.

    Raises:
        TangledError: the text cannot be read.
    """
    found = []
    for each in _placed_objects(text):
        verdict = each.members
        if len(verdict) == 1 and not set(verdict) & set(names):
            (inner,) = verdict.values()
            verdict = folded(inner) if isinstance(inner, Mapping) else {}
        if set(verdict) & set(names):
            found.append(each._replace(members=verdict))
    return found


def complete_members(text: str, names: Sequence[str]) -> list[Candidate]:
    """Return the dimensions of broken or cut-off verdicts that are complete in themselves.

    Args:
        text: of the reply.
        names: of the dimensions.

    Raises:
        TangledError: the text cannot be read.
    """
    either = "|".join(map(re.escape, names))
    key = re.compile(rf'"\s{{0,9}}({either})\s{{0,9}}"\s{{0,9}}:\s{{0,99}}', re.IGNORECASE)
    values = _Values(text)
    found = []
    for match in key.finditer(text):
        if (read := values.at(match.end())) is None:
            continue
        value, end, is_clear = read
        # A number at the very end may have lost digits.
        if isinstance(value, Mapping) or _AFTER_VALUE.match(text, end):
            found.append(Candidate({match[1].lower(): value}, match.start(), end, is_clear))
    return found


def pieces(text: str, marker: str) -> list[str]:
    """Return what stands before, between and behind the markers of a text, in whatever case.

    A marker inside a JSON object is a part of that object and divides nothing.

    Raises:
        TangledError: the text cannot be read.
    """
    marks = list(re.finditer(re.escape(marker), text, re.IGNORECASE))
    if not marks:
        return [text]
    is_inside = _insides(text)
    found, begin = [], 0
    for match in marks:
        if not is_inside(match.start()):
            found.append(text[begin : match.start()])
            begin = match.end()
    return [*found, text[begin:]]


def _insides(text: str) -> Callable[[int], bool]:
    """Return what tells whether a place of a text is a part of one of its JSON objects."""
    objects = list(_placed_objects(text))
    starts = [each.start for each in objects]

    def is_inside(place: int) -> bool:
        before = bisect(starts, place) - 1
        return before >= 0 and place < objects[before].end

    return is_inside


def _placed_objects(text: str) -> Iterator[Candidate]:
    """Yield the JSON objects of a text with begin and end; of nested ones only the outer."""
    values = _Values(text)
    end = 0
    while (opening := _OPENING.search(text, end)) is not None:
        start, end = opening.span()
        if (read := values.at(start)) is not None:
            value, end, is_clear = read
            yield Candidate(folded(value), start, end, is_clear)


class _Values:
    """Reads JSON values at given places of a text, in time that grows with the text alone.

    Args:
        text: in which they stand; places only ever come further behind.
    """

    def __init__(self, text: str) -> None:
        # Not strict: raw line breaks inside strings are common and harmless.
        self._decoder = json.JSONDecoder(strict=False, object_pairs_hook=self._object)
        self._rest = text
        self._left = _MOST_IN_VAIN * len(text)
        # Without an escape a text in ASCII has no half of a surrogate pair.
        self._is_whole = text.isascii() and "\\u" not in text
        self._begin = 0
        self._is_clear = True

    def at(self, place: int) -> tuple[Any, int, bool] | None:
        """Return the value that begins at a place, where it ends, and whether no key comes twice.

        Raises:
            TangledError: too much was read in vain.
        """
        # For every error the decoder counts the lines from the beginning of what it was given.
        if place - self._begin >= _WINDOW:
            self._rest = self._rest[place - self._begin :]
            self._begin = place
        self._is_clear = True
        try:
            value, end = self._decoder.raw_decode(self._rest, place - self._begin)
            value = value if self._is_whole else whole_json(value)
            return value, end + self._begin, self._is_clear
        except json.JSONDecodeError as error:
            self._left -= error.pos - (place - self._begin)
        except (ValueError, RecursionError):  # a number too long, values nested too deep
            self._left -= len(self._rest)
        if self._left < 0:
            raise TangledError
        return None

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        read = dict(pairs)
        self._is_clear = self._is_clear and len(folded(read)) == len(pairs)
        return read


def without_trailing_commas(text: str) -> str:
    """Return the text without commas that stand before a closing bracket."""
    return _COMMA_BEFORE_CLOSER.sub("", text)


def folded(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its keys trimmed and in lower case."""
    return {key.strip().lower(): each for key, each in value.items()}
