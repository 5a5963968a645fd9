"""Keys of endpoints, taken out of what an endpoint sends back, in whatever form it quotes them."""

from __future__ import annotations

import base64
import json
import re
from functools import lru_cache
from typing import Any

TAKEN_OUT = "[key]"

# A shorter key is a word, and taking it out would garble what came back.
_SHORTEST_KEY = 8
# Escapes of JSON, also in strings of JSON in JSON, and of addresses.
_ESCAPE = re.compile(r"\\+|u00([0-9a-f]{2})|%(?:25)*([0-9a-f]{2})", re.IGNORECASE)
# Each layer of JSON in a string of JSON doubles the backslashes and adds one.
_BACKSLASHES = r"\\{0,7}"


def without_key(body: str, key: str) -> str:
    """Return the body of a response without the key of the request.

    A key is found as it is, with characters of it escaped for JSON or for an address, and within
    Base64. JSON stays JSON. A mark of byte order goes as well: some servers write one before
    JSON, and no parser takes it.

    Args:
        body: as it came.
        key: of the endpoint; one of a few characters is a word and stays.
    """
    body = body.removeprefix("\ufeff")
    if len(key) < _SHORTEST_KEY or not _may_hold(body, key):
        return body
    try:
        return json.dumps(_cleaned(json.loads(body), key))
    except (ValueError, RecursionError):
        return _pattern(key).sub(TAKEN_OUT, body)


def _may_hold(body: str, key: str) -> bool:
    """Tell whether a key may be in a body; faster than to search for all its forms."""
    forms = _forms(key)
    if any(form in body for form in forms):
        return True
    if "\\" not in body and "%" not in body:
        return False
    plain = _unescaped(body)
    return any(_unescaped(form) in plain for form in forms)


def _unescaped(text: str) -> str:
    """Return a text with escaped characters as they are, and without any other backslash."""

    def character(escape: re.Match[str]) -> str:
        number = escape[1] or escape[2]
        return chr(int(number, 16)) if number else ""

    return _ESCAPE.sub(character, text)


def _cleaned(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return _pattern(key).sub(TAKEN_OUT, value)
    if isinstance(value, list):
        return [_cleaned(each, key) for each in value]
    if isinstance(value, dict):
        return {_cleaned(name, key): _cleaned(each, key) for name, each in value.items()}
    return value


@lru_cache(maxsize=8)
def _pattern(key: str) -> re.Pattern[str]:
    """Return what finds all forms of a key, with any of their characters escaped."""
    return re.compile("|".join(map(_with_escapes, _forms(key))))


def _with_escapes(text: str) -> str:
    return "".join(
        rf"(?:{_BACKSLASHES}(?:{re.escape(each)}|u00(?i:{ord(each):02x}))"
        rf"|%(?:25)*(?i:{ord(each):02x}))"
        for each in text
    )


@lru_cache(maxsize=8)
def _forms(key: str) -> tuple[str, ...]:
    """Return a key and what it looks like within Base64, whatever stands around it there.

    Three bytes are four characters, so there are three ways to begin; characters at both ends that
    the neighbours have a part in are left out.
    """
    forms = [key]
    for before in range(3):
        raw = b"\0" * before + key.encode()
        first, last = -(-before * 8 // 6), len(raw) * 8 // 6
        forms += [
            encode(raw).decode()[first:last]
            for encode in (base64.b64encode, base64.urlsafe_b64encode)
        ]
    return tuple(dict.fromkeys(forms))
