"""Text that models write: the one reader of JSON in a reply, and texts made fit for UTF-8.

JSON is read as strict JSON first. Only where that fails, allowances are made: fences and prose
around it, a comma before a closing bracket, quotes and literals of Python, curly and full-width
signs, quotes inside a string that no comma, colon or bracket follows, and backslashes that JSON
does not know. Nothing is guessed: an object that is cut off or broken is no value and nothing
inside it is read, and one in which a key stands twice is unclear.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from medeval.tolerant_json import BLANK, DEEPEST, QUOTES, Allowances, NotJsonError, tolerant_value

_SURROGATE = re.compile("[\ud800-\udfff]")
_START = re.compile(rf"[{{｛](?={BLANK}[}}｝{QUOTES}])")
_LIST = re.compile(rf"{BLANK}[\[［【]")
_FENCED = re.compile(r"```[\w+-]{0,20}+[ \t]*+\r?\n?(.*?)```", re.DOTALL)
_NO_VALUE = object()
# Text in which so many times its length is read in vain is no reply.
_MOST_IN_VAIN = 4
# For an error the decoder counts the lines from the beginning of what it was given.
_WINDOW = 4096
REPLY = Allowances()


class Read(NamedTuple):
    """A value of a text.

    Attributes:
        value: as Python has it, its texts without halves of surrogate pairs. Members that are no
            value (NaN, a number beyond all bounds) are left out.
        start: where it begins.
        end: where it ends, exclusive.
        is_clear: no key stands twice in an object.
        is_strict: it is JSON as it stands.
    """

    value: Any
    start: int
    end: int
    is_clear: bool
    is_strict: bool


class Found(NamedTuple):
    """An object of a reply that is what was looked for, or that wraps it.

    Attributes:
        members: of it, by folded key.
        read: the object as it stands in the text.
        is_clear: no key stands twice in it, and it is the only one that its object wraps.
    """

    members: dict[str, Any]
    read: Read
    is_clear: bool


# Tells by its folded keys whether an object is what is looked for.
Fits = Callable[[Mapping[str, Any]], object]


def last_object(text: str, names: Iterable[str], fits: Fits) -> Found | None:
    """Return the last object of a reply that fits: models correct themselves.

    It is None where none fits, where the last one is unclear, and where one of the names stands as
    a key behind it, since then a later answer is broken or cut off.

    Args:
        text: of the reply, without its thinking.
        names: of keys that an answer has.
        fits: tells an object, by its folded keys, that is an answer.
    """
    for found in (fitting(read, fits) for read in reversed(list(objects_in(text)))):
        if found is not None:
            either = "|".join(re.escape(name).replace("_", r"[\s_-]") for name in names)
            key = rf"[{QUOTES}]\s{{0,9}}(?:{either})\s{{0,9}}[{QUOTES}]\s{{0,9}}[:：]"
            later = re.compile(key, re.IGNORECASE).search(text, found.read.end)
            return found if found.is_clear and later is None else None
    return None


def fitting(read: Read, fits: Fits, allow: Allowances = REPLY) -> Found | None:
    """Return an object that fits, or the one that it wraps, by folded keys; None for any other.

    A wrapper has one level: the members of an object, which may be written as text. What stands in
    a list of an object is a candidate, no answer.
    """
    members = folded(read.value)
    if fits(members):
        return Found(members, read, read.is_clear)
    tried = (_as_object(value, allow) for value in members.values())
    inner = [each for each in tried if each is not None]
    wrapped = [(each, folded(each.value)) for each in inner]
    wrapped = [(each, own) for each, own in wrapped if fits(own)]
    if not wrapped:
        return None
    each, own = wrapped[-1]
    return Found(own, read, read.is_clear and each.is_clear and len(wrapped) == 1)


def objects_in(text: str, allow: Allowances = REPLY) -> Iterator[Read]:
    """Yield the objects of a text in their order; of objects in objects the outer ones."""
    values = Values(text, allow)
    start = _START.search(text)
    while start is not None:
        try:
            read = values.at(start.start())
            place = read.end
            yield read
        except NotJsonError as error:
            if error.resume is None:
                return
            place = error.resume
        start = _START.search(text, place)


def list_in(text: str) -> Any:
    """Return the list that a reply is, or that its last fenced block is; None if there is none.

    A list with objects in it is none: they are read by themselves.
    """
    for part in (text, *reversed(_FENCED.findall(text))):
        if _LIST.match(part) and (read := whole_value(part)):
            return None if any(isinstance(each, dict) for each in read.value) else read.value
    return None


def whole_value(text: str, allow: Allowances = REPLY) -> Read | None:
    """Return the one value that a text is, with nothing but blanks around it; else None."""
    try:
        read = Values(text, allow).at(len(text) - len(text.lstrip()))
    except NotJsonError:
        return None
    return None if text[read.end :].strip() else read


def folded(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its keys folded: trimmed, in one case, parted by underscores."""
    return {fold_key(key): each for key, each in value.items()}


def fold_key(key: str) -> str:
    """Return a key as keys are compared."""
    return re.sub(r"[\s_-]+", "_", key.strip().casefold())


def whole(text: str) -> str:
    r"""Return a text with U+FFFD for each half of a surrogate pair; two halves become one.

    A model that is cut off in the midst of an emoji writes one half of it as an escape of JSON
    ("\ud83d"), which no file and no request in UTF-8 can hold. JSON allows that (RFC 8259, section
    8.2), Unicode's encoding forms do not.
    """
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_json(value: Any, deepest: int = 10_000) -> Any:
    """Return a value as JSON has them with all its texts, names of fields among them, whole.

    What the reader found to be no value is left out; a list is all of it or none.

    Args:
        value: of strings, numbers, lists, tuples and dictionaries.
        deepest: how many levels it may have.

    Raises:
        RecursionError: it is nested too deep.
    """
    if isinstance(value, str):
        return whole(value)
    if deepest == 0:
        raise RecursionError
    if isinstance(value, list | tuple):
        parts = type(value)(whole_json(each, deepest - 1) for each in value)
        return _NO_VALUE if any(each is _NO_VALUE for each in parts) else parts
    if isinstance(value, dict):
        members = {whole_json(key): whole_json(each, deepest - 1) for key, each in value.items()}
        return {key: each for key, each in members.items() if each is not _NO_VALUE}
    return value


def _as_object(value: Any, allow: Allowances) -> Read | None:
    """Return a value that is an object, or that is the text of one; None for any other."""
    if isinstance(value, dict):
        return Read(value, 0, 0, True, True)
    if isinstance(value, str) and _START.match(value.lstrip()):
        return whole_value(value, allow)
    return None


class Values:
    """Reads the values at places of a text, in time that grows as the text does.

    Args:
        text: in which they stand; places only ever come further behind.
        allow: what is forgiven.
    """

    def __init__(self, text: str, allow: Allowances) -> None:
        # Not strict: raw line breaks inside strings are common and harmless.
        self._decoder = json.JSONDecoder(
            strict=False,
            object_pairs_hook=self._object,
            parse_float=_float,
            parse_int=_int,
            parse_constant=lambda _: _NO_VALUE,
        )
        self._text, self._allow, self._rest, self._begin = text, allow, text, 0
        self._left = _MOST_IN_VAIN * len(text) + _WINDOW

    def at(self, place: int) -> Read:
        """Return the value that begins at a place.

        Raises:
            NotJsonError: there is none.
        """
        if place - self._begin >= _WINDOW:
            self._rest, self._begin = self._rest[place - self._begin :], place
        self._is_clear = is_strict = True
        try:
            value, end = self._decoder.raw_decode(self._rest, place - self._begin)
            end += self._begin
        except (ValueError, RecursionError):
            self._is_clear, is_strict = True, False
            value, end = self._tolerant(place)
        try:
            value = whole_json(value, DEEPEST)
        except RecursionError:
            raise NotJsonError("nested too deeply", end, None) from None
        if value is _NO_VALUE:
            raise NotJsonError("a number that is none", end, end)
        return Read(value, place, end, self._is_clear, is_strict)

    def _tolerant(self, place: int) -> tuple[Any, int]:
        try:
            return tolerant_value(self._text, place, self._allow, self._decoder)
        except NotJsonError as error:
            self._left -= error.place - place
            if self._left < 0:
                raise NotJsonError("broken too often to be read", error.place, None) from None
            raise

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self._is_clear = self._is_clear and len({fold_key(key) for key, _ in pairs}) == len(pairs)
        return dict(pairs)


def _float(text: str) -> Any:
    return number if math.isfinite(number := float(text)) else _NO_VALUE


def _int(text: str) -> Any:
    try:
        return int(text)
    except ValueError:  # of more digits than Python reads
        return _NO_VALUE
