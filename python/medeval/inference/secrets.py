"""Secrets, taken out of what is written: a key in any form, and what has a secret's name.

A name is enough: what a key or password looks like nobody can tell.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

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
    plain = _unescaped(body) if "\\" in body or "%" in body else ""
    return any(form in body or _unescaped(form) in plain for form in _forms(key))


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

    def escaped(character: str) -> str:
        code = f"(?i:{ord(character):02x})"
        return rf"(?:{_BACKSLASHES}(?:{re.escape(character)}|u00{code})|%(?:25)*{code})"

    return re.compile("|".join("".join(map(escaped, form)) for form in _forms(key)))


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


WITHHELD = "[withheld]"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORD = re.compile(
    r"apikey|auth|authorization|bearer|cookie|credentials?|jwt|key|passphrase|passw(?:or)?d|secret"
    r"|signature|token"
)
# Names are written in one word too: accesskey, clientsecret, userpwd.
_ENDING = re.compile(
    r"(?:(?<!mon|don|tur|hoc|joc)key|secret|token|passw(?:or)?d|passphrase|credential|pwd|sas|sig"
    r"|signature|keys|secrets|tokens|passwords|pwds)\Z"
)
# Before `tokens` and `keys` they speak of counts, of a tokenizer or of fields.
_NO_ACCESS = re.compile(
    r"answer|bad|completion|expected|input|max|min|n|new|num|output|prompt|reasoning|required"
    r"|special|stop|suppress|thinking|total"
)
_PLURAL = re.compile(r"(?:tokens|keys)\Z")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>]+", re.IGNORECASE)
# As connection strings and JSON have them: Password=...; AccountKey='...'  "token": "..."
_PAIR = re.compile(
    r"(?P<name>[a-z][\w.\- ]{0,40}?)(?:\s*=|[\"']\s*:)\s*"
    r"(?P<value>\"[^\"]*\"|'[^']*'|\{[^}]*\}|[^;,&\s\"'{}]+)",
    re.IGNORECASE,
)
_QUOTES = "\"'{}"


def is_secret(name: str) -> bool:
    """Tell whether a parameter of this name holds a secret; `max_tokens` does not."""
    words = [word.lower() for word in _WORD.findall(name)]
    if any(map(_SECRET_WORD.fullmatch, words)):
        return True
    compact = "".join(words)
    if _PLURAL.search(compact) and any(map(_NO_ACCESS.fullmatch, words)):
        return False
    return _ENDING.search(compact) is not None


def holds_secret(name: str, value: object) -> bool:
    """Tell whether a parameter is a secret by its name, and not a number of tokens by its value."""
    is_number = value is None or isinstance(value, bool | int | float)
    return is_secret(name) and not (is_number and _PLURAL.search(name.lower()))


def secret_places(parameters: Mapping[Any, Any], place: str = "") -> Iterator[str]:
    """Yield where texts stand under names of secrets, however deep.

    A schema may have a field of such a name: it says what the field is, and is no text.
    """
    for name, value in parameters.items():
        here = f"{place}{name}"
        listed = value if isinstance(value, list | tuple) else [value]
        if is_secret(str(name)) and any(isinstance(each, str) and each for each in listed):
            yield here
            continue
        for each in listed:
            if isinstance(each, Mapping):
                yield from secret_places(each, f"{here}.")


def text_without_secrets(text: str) -> str:
    """Return a text without the secrets in it that have a name: of addresses and settings."""

    def withheld(found: re.Match[str]) -> str:
        kept = found[0].removesuffix(found["value"])
        return kept + WITHHELD if is_secret(found["name"]) else found[0]

    if "://" in text:
        text = _ADDRESS.sub(lambda found: bare_address(found[0]), text)
    return _PAIR.sub(withheld, text)


def secrets_in_text(text: str) -> list[str]:
    """Return the secrets in a text that have a name."""
    pairs = [found for found in _PAIR.finditer(text) if is_secret(found["name"])]
    found = [pair["value"].strip(_QUOTES) for pair in pairs]
    for address in _ADDRESS.findall(text):
        found += _secrets_of_address(address)
    return found


def bare_address(text: str) -> str:
    """Return a web address without user, password, fragment and the secrets of its query."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return WITHHELD  # nobody can tell what is in it
    query = [(name, value) for name, value in parse_qsl(parts.query) if not _is_secret_query(name)]
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, place, parts.path, urlencode(query), ""))


def _secrets_of_address(address: str) -> list[str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return []
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    raw = [pair.partition("=") for pair in parts.query.split("&")]
    found = [password, *(value for name, _, value in raw if _is_secret_query(name))]
    return [form for each in found for form in {each, unquote(each)} if form]


def _is_secret_query(name: str) -> bool:
    # Of functions in a cloud; elsewhere a code is one of a language or a disease.
    return is_secret(name) or name.lower() == "code"
