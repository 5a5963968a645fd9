"""Where the records stand in a text: in an array, under a key, alone, one a line, one by one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

from medeval.json_reader import Allowances, tolerant_value

Layout = Literal["array", "wrapped", "object", "lines", "sequence", "empty"]
Raw = dict[str, Any]

WRAPPERS = ("data", "records", "items", "samples")
BLANKS = " \t\r\n\u3000\ufeff"
# What the contract of the files allows: no signs of Python, and nothing changed inside strings.
FORGIVEN = Allowances(python=False, braces=True, backslashes=False)

# Returns the value that begins at a place of a text, and where it ends.
Reader = Callable[[str, int], tuple[Any, int]]


class LayoutError(ValueError):
    """The text holds JSON, but not records; or no JSON at all."""


@dataclass(frozen=True)
class Document:
    """The records of a text as they stand there.

    Attributes:
        records: each with all of its keys, in their order.
        layout: how they stand in the text.
        repaired: whether the text became JSON only by the tolerant reader.
        envelope: of `wrapped`, the object around the list (the list itself in it is empty).
        key: of `wrapped`, the key of the list.
    """

    records: list[Raw]
    layout: Layout
    repaired: bool = False
    envelope: Raw = field(default_factory=dict)
    key: str = ""


def parse(text: str) -> Document:
    """Return the records of a text; strict JSON first, the tolerant reader only if that fails.

    Raises:
        LayoutError: neither reads it, or what is read are no records.
    """
    if not text.strip(BLANKS):
        return Document([], "empty")
    reasons = []
    for read in (_strict, _tolerant):
        found: Document | None
        try:
            found = _one_value(text.strip(BLANKS), read)
        except LayoutError:
            raise
        except ValueError as error:
            reasons.append(str(error))
            found = _lines(text, read) or _sequence(text.strip(BLANKS), read)
        if found is not None:
            return replace(found, repaired=read is _tolerant)
    raise LayoutError(f"not JSON: {reasons[0]}; with quotes and commas forgiven: {reasons[1]}")


def _strict(text: str, place: int) -> tuple[Any, int]:
    """Read strict JSON: no NaN, no key twice in an object."""
    try:
        return _DECODER.raw_decode(text, place)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _tolerant(text: str, place: int) -> tuple[Any, int]:
    return tolerant_value(text, place, FORGIVEN, _DECODER)


def _whole(text: str, read: Reader) -> Any:
    """Read the one value that a text is.

    Raises:
        ValueError: it is none, or something stands behind it.
    """
    value, end = read(text, 0)
    if end < len(text):
        raise ValueError(f"something stands behind its end (character {end + 1:,})")
    return value


def _one_value(text: str, read: Reader) -> Document:
    """Read an array, an object around a list, or one record."""
    value = _whole(text, read)
    if isinstance(value, list):
        return Document(_objects(value, "the array"), "array")
    if not isinstance(value, dict):
        raise LayoutError("neither a record nor a list of records")
    keys = [key for key in WRAPPERS if isinstance(value.get(key), list)]
    if not keys or "question" in value:
        return Document([value], "object")
    if len(keys) > 1:
        raise LayoutError(f"lists under {' and '.join(keys)}; only one can be the records")
    key = keys[0]
    records = _objects(value[key], f"the list {key}")
    return Document(records, "wrapped", envelope={**value, key: []}, key=key)


def _lines(text: str, read: Reader) -> Document | None:
    """Read one record a line, each strictly if it can be; None if some line is none."""
    records: list[Raw] = []
    for line in filter(None, (line.strip(BLANKS) for line in text.split("\n"))):
        value = _whole_or_none(line, _strict)
        if value is None:
            value = _whole_or_none(line, read)
        if not isinstance(value, dict):
            return None
        records.append(value)
    return Document(records, "lines")


def _sequence(text: str, read: Reader) -> Document | None:
    """Read records one after another; None if something else stands between them."""
    place = 0
    records: list[Raw] = []
    while place < len(text):
        try:
            value, place = read(text, place)
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        records.append(value)
        while place < len(text) and text[place] in BLANKS:
            place += 1
    return Document(records, "sequence")


def _whole_or_none(text: str, read: Reader) -> Any:
    try:
        return _whole(text, read)
    except ValueError:
        return None


def _objects(values: list[Any], where: str) -> list[Raw]:
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise LayoutError(f"item {number:,} of {where} is no record (no JSON object)")
    return values


def _object(pairs: list[tuple[str, Any]]) -> Raw:
    found: Raw = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
)
