"""Secrets, taken out of what is written: a key in any form, and what has a secret's name.

A name is enough: what a key or password looks like nobody can tell.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

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
    if len(key) < _SHORTEST_KEY:
        return body
    # Faster than to search for all forms.
    plain = _unescaped(body) if "\\" in body or "%" in body else ""
    if not any(form in body or _unescaped(form) in plain for form in _forms(key)):
        return body
    try:
        return json.dumps(_cleaned(json.loads(body), key))
    except (ValueError, RecursionError):
        return _pattern(key).sub(TAKEN_OUT, body)


def _unescaped(text: str) -> str:
    """Return a text with escaped characters as they are, and without any other backslash."""
    return _ESCAPE.sub(
        lambda escape: bytes.fromhex(escape[1] or escape[2] or "").decode("latin-1"), text
    )


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
# What a word of a secret's name is or ends in: accesskey, clientsecret, userpwd.
_SECRET = re.compile(
    r"(?:(?:(?<!mon|don|tur|hoc|joc)key|secret|token|passw(?:or)?d|passphrase|pwd|credential|sas"
    r"|sig|signature)s?|auth|authorization|bearer|cookie|jwt)\Z"
)
_PLURALS = ("tokens", "keys")
# With these they speak of counts, of a tokenizer or of fields.
_NO_ACCESS = re.compile(
    r"answer|bad|completion|expected|input|max|min|n|new|num|output|prompt|reasoning|required"
    r"|special|stop|suppress|thinking|total"
)
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
    secret = [word for word in (*words, "".join(words)) if _SECRET.search(word)]
    if all(word.endswith(_PLURALS) for word in secret) and any(map(_NO_ACCESS.fullmatch, words)):
        return False
    return bool(secret)


def holds_secret(name: str, value: object) -> bool:
    """Tell whether a parameter is a secret by its name, and not a number of tokens by its value."""
    is_number = value is None or isinstance(value, bool | int | float)
    return is_secret(name) and not (is_number and name.lower().endswith(_PLURALS))


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
    if "://" in text:
        text = _ADDRESS.sub(lambda found: _taken_apart(found[0])[0], text)
    return _PAIR.sub(
        lambda found: (
            found[0].removesuffix(found["value"]) + WITHHELD
            if is_secret(found["name"])
            else found[0]
        ),
        text,
    )


def secrets_in_text(text: str) -> list[str]:
    """Return the secrets in a text that have a name."""
    pairs = [found for found in _PAIR.finditer(text) if is_secret(found["name"])]
    of_addresses = (_taken_apart(address)[1] for address in _ADDRESS.findall(text))
    return [*(pair["value"].strip(_QUOTES) for pair in pairs), *chain.from_iterable(of_addresses)]


def _taken_apart(address: str) -> tuple[str, list[str]]:
    """Return a web address without its secrets, and these.

    User, password and fragment are left out, and what has a secret's name in its query.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return WITHHELD, []  # nobody can tell what is in it
    user, _, place = parts.netloc.rpartition("@")
    secrets, query = [user.partition(":")[2]], list[str]()
    for pair in filter(None, parts.query.split("&")):
        name, _, value = pair.partition("=")
        # A code is a key of functions in a cloud; elsewhere it is one of a language or a disease.
        if is_secret(unquote(name)) or name.lower() == "code":
            secrets.append(value)
        else:
            query.append(pair)
    bare = urlunsplit((parts.scheme, place, parts.path, "&".join(query), ""))
    return bare, [form for each in secrets for form in {each, unquote(each)} if form]
