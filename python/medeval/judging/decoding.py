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


def candidates(text: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the objects that could be a verdict, in their order, keys trimmed and in lower case.

    An object with one key is looked into: some judges wrap their verdict.

    Args:
        text: of the reply.
        names: of the dimensions.
    """
    found = []
    for each, _, _ in _placed_objects(text):
        verdict = folded(each)
        if len(verdict) == 1 and not set(verdict) & set(names):
            (inner,) = verdict.values()
            verdict = folded(inner) if isinstance(inner, Mapping) else {}
        if set(verdict) & set(names):
            found.append(verdict)
    return found


def pieces(text: str, marker: str) -> list[str]:
    """Return what stands before, between and behind the markers of a text.

    A marker inside a JSON object is a part of that object and divides nothing.
    """
    inside = [(start, end) for _, start, end in _placed_objects(text)]
    found, begin = [], 0
    for match in re.finditer(re.escape(marker), text):
        if not any(start < match.start() < end for start, end in inside):
            found.append(text[begin : match.start()])
            begin = match.end()
    return [*found, text[begin:]]


def _placed_objects(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Yield the JSON objects of a text with begin and end; of nested ones only the outer."""
    start = text.find("{")
    while start >= 0:
        end = start + 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
        else:
            yield value, start, end
        start = text.find("{", end)


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
