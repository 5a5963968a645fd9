"""Where the records stand in a text: in an array, under a key, alone, one a line, one by one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from medeval.yier.tolerant_json import RepairError, repair

Layout = Literal["array", "wrapped", "object", "lines", "sequence", "empty"]
Raw = dict[str, Any]

WRAPPERS = ("data", "records", "items", "samples")
BLANKS = " \t\r\n\u3000\ufeff"


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
    try:
        return _one_value(text, repaired=False)
    except LayoutError:
        raise
    except ValueError as error:
        strict = error
    return _lines(text) or _sequence(text) or _tolerant(text, strict)


def loads(text: str) -> Any:
    """Read strict JSON: no NaN, no key twice in an object.

    Raises:
        ValueError: the text is not JSON.
    """
    return _decoder().decode(text)


def _tolerant(text: str, strict: ValueError) -> Document:
    whole = None
    try:
        whole = repair(text)
    except RepairError as error:
        reason = str(error)
    if whole is not None:
        try:
            return _one_value(whole, repaired=True)
        except LayoutError:
            raise
        except ValueError as error:
            reason = _without_place(error)
    found = _lines(text, repair)
    if found is None and whole is not None:
        found = _sequence(whole)
    if found is None:
        raise LayoutError(f"not JSON: {strict}; with quotes and commas forgiven: {reason}")
    return Document(found.records, found.layout, repaired=True)


def _one_value(text: str, *, repaired: bool) -> Document:
    """Read an array, an object around a list, or one record."""
    value = loads(text.strip(BLANKS))
    if isinstance(value, list):
        return Document(_objects(value, "the array"), "array", repaired)
    if not isinstance(value, dict):
        raise LayoutError("neither a record nor a list of records")
    keys = [key for key in WRAPPERS if isinstance(value.get(key), list)]
    if not keys or "question" in value:
        return Document([value], "object", repaired)
    if len(keys) > 1:
        raise LayoutError(f"lists under {' and '.join(keys)}; only one can be the records")
    key = keys[0]
    records = _objects(value[key], f"the list {key}")
    return Document(records, "wrapped", repaired, {**value, key: []}, key)


def _lines(text: str, mend: Callable[[str], str] | None = None) -> Document | None:
    """Read one record a line; None if some line is none, even mended."""
    records: list[Raw] = []
    for line in text.split("\n"):
        stripped = line.strip(BLANKS)
        if not stripped:
            continue
        value = _value_or_none(stripped)
        if value is None and mend is not None:
            try:
                value = _value_or_none(mend(stripped))
            except RepairError:
                return None
        if not isinstance(value, dict):
            return None
        records.append(value)
    return Document(records, "lines")


def _sequence(text: str) -> Document | None:
    """Read records one after another; None if something else stands between them."""
    decoder, rest, place = _decoder(), text.strip(BLANKS), 0
    records: list[Raw] = []
    while place < len(rest):
        try:
            value, end = decoder.raw_decode(rest, place)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        records.append(value)
        place = end
        while place < len(rest) and rest[place] in BLANKS:
            place += 1
    return Document(records, "sequence")


def _value_or_none(text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return None


def _objects(values: list[Any], where: str) -> list[Raw]:
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise LayoutError(f"item {number:,} of {where} is no record (no JSON object)")
    return values


def _decoder() -> json.JSONDecoder:
    return _Decoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_number)


class _Decoder(json.JSONDecoder):
    def decode(self, s: str, *args: Any, **options: Any) -> Any:
        try:
            return super().decode(s, *args, **options)
        except RecursionError:
            raise ValueError("nested too deeply") from None


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


def _without_place(error: ValueError) -> str:
    # Places in the rewritten text would mislead.
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)
