"""JSON objects in a reply that may be wrapped in prose, fenced, slightly wrong or cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Not strict: raw line breaks inside strings are common and harmless.
_DECODER = json.JSONDecoder(strict=False)
_COMMA_BEFORE_CLOSER = re.compile(r",(?=\s{0,100}[}\]])")
_AFTER_VALUE = re.compile(r"\s{0,100}[,}\]]")


def candidates(text: str, names: Sequence[str], is_marked: bool) -> list[dict[str, Any]]:
    """Return the objects that could be a verdict, in their order, keys trimmed and in lower case.

    An object with one key is looked into: some judges wrap their verdict.

    Args:
        text: of the reply.
        names: of the dimensions.
        is_marked: the verdict was to come first: no object but the first is looked at.
    """
    found = []
    for each in _first_object(text) if is_marked else objects(text):
        verdict = folded(each)
        if len(verdict) == 1 and not set(verdict) & set(names):
            (inner,) = verdict.values()
            verdict = folded(inner) if isinstance(inner, Mapping) else {}
        if set(verdict) & set(names):
            found.append(verdict)
    return found


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text from the left; of nested ones only the outer."""
    place = text.find("{")
    while place >= 0:
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
        else:
            yield value
        place = text.find("{", place)


def _first_object(text: str) -> list[dict[str, Any]]:
    place = text.find("{")
    if place < 0:
        return []
    try:
        return [_DECODER.raw_decode(text, place)[0]]
    except (ValueError, RecursionError):
        return []


def without_trailing_commas(text: str) -> str:
    """Return the text without commas that stand before a closing bracket."""
    return _COMMA_BEFORE_CLOSER.sub("", text)


def complete_members(text: str, names: Sequence[str], is_marked: bool) -> dict[str, Any]:
    """Return the dimensions of a broken or cut-off verdict that are complete in themselves.

    Args:
        text: of the reply.
        names: of the dimensions.
        is_marked: the verdict was to come first: where a dimension comes again, another begins.
    """
    either = "|".join(map(re.escape, names))
    key = re.compile(rf'"\s{{0,9}}({either})\s{{0,9}}"\s{{0,9}}:\s{{0,99}}', re.IGNORECASE)
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for match in key.finditer(text):
        name = match[1].lower()
        if is_marked and name in seen:
            break
        seen.add(name)
        try:
            value, end = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        # A number at the very end may have lost digits.
        if isinstance(value, Mapping) or _AFTER_VALUE.match(text, end):
            found[name] = value
    return found


def folded(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its keys trimmed and in lower case."""
    return {key.strip().lower(): each for key, each in value.items()}
