"""Keys read from the environment, and secrets taken out of what is written.

A key is taken out in any form; anything else by its name, since what a key or password looks like
nobody can tell.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.inference.errors import json_or_none

TAKEN_OUT = "[key]"
WITHHELD = "[withheld]"
# What the name of an environment variable is made of.
VARIABLE = r"^[A-Z][A-Z0-9_]{0,99}$"

# A shorter key is a word, and taking it out would garble what came back.
_SHORTEST_KEY = 8
# Escapes of JSON, also in strings of JSON in JSON, and of addresses.
_ESCAPE = re.compile(r"\\+|u00([0-9a-f]{2})|%(?:25)*([0-9a-f]{2})", re.IGNORECASE)
# Each layer of JSON in a string of JSON doubles the backslashes and adds one.
_BACKSLASHES = r"\\{0,7}"
# A text as JSON writes it.
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORDS = toml_beside(__file__, "secrets.toml")
# What a word of a secret's name is or ends in.
_SECRET = re.compile(rf"(?:{'|'.join(_WORDS['secret'])})\Z")
_PLURALS = ("tokens", "keys")
# With these they speak of counts, of a tokenizer or of fields.
_NO_ACCESS = re.compile("|".join(_WORDS["no_access"]))
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>]+", re.IGNORECASE)
_PAIR = re.compile(_WORDS["pair"], re.IGNORECASE | re.VERBOSE)


def key_from_environment(variable: str | None, environment: Mapping[str, str]) -> str:
    """Return the key for an endpoint; the word `none` if it needs none.

    Args:
        variable: the name of the environment variable that holds it.
        environment: such as `os.environ`.

    Raises:
        UserError: the variable is not set, what it holds cannot be sent, or what was given is no
            name of a variable. What was given is not repeated: it may be the key itself.
    """
    if variable is None:
        return "none"
    if not re.fullmatch(VARIABLE, variable):
        raise UserError("A key is given by the name of an environment variable, never by itself.")
    if not (key := environment.get(variable, "").strip()):
        raise UserError(f"The environment variable {variable} is not set. Put the key there.")
    if not (key.isascii() and key.isprintable()):
        why = "has characters that no request can carry, such as a line break"
        raise UserError(f"The key in the environment variable {variable} {why}.")
    return key


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
    pattern, forms = _forms(key)
    if not any(form in body or _unescaped(form) in plain for form in forms):
        return body
    if json_or_none(body) is None:
        return pattern.sub(TAKEN_OUT, body)
    return _TEXT.sub(lambda text: json.dumps(pattern.sub(TAKEN_OUT, json.loads(text[0]))), body)


def _unescaped(text: str) -> str:
    """Return a text with escaped characters as they are, and without any other backslash."""
    return _ESCAPE.sub(
        lambda found: bytes.fromhex(found[1] or found[2] or "").decode("latin-1"), text
    )


@lru_cache(maxsize=8)
def _forms(key: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return a key and what it looks like within Base64, and what finds them with any escapes.

    Three bytes are four characters, so there are three ways to begin; characters at both ends that
    the neighbours have a part in are left out.
    """
    forms = [key]
    for before in range(3):
        raw = b"\0" * before + key.encode()
        first, last = -(-before * 8 // 6), len(raw) * 8 // 6
        encoded = base64.b64encode(raw).decode()[first:last]
        forms += [encoded, encoded.translate(str.maketrans("+/", "-_"))]
    escaped = {
        letter: rf"(?:{_BACKSLASHES}(?:{re.escape(letter)}|u00(?i:{ord(letter):02x}))"
        rf"|%(?:25)*(?i:{ord(letter):02x}))"
        for letter in "".join(forms)
    }
    pattern = re.compile("|".join("".join(map(escaped.__getitem__, form)) for form in forms))
    return pattern, tuple(dict.fromkeys(forms))


def is_secret(name: str) -> bool:
    """Tell whether a parameter of this name holds a secret; `max_tokens` does not."""
    words = [word.lower() for word in _WORD.findall(name)]
    secret = [word for word in (*words, "".join(words)) if _SECRET.search(word)]
    is_count = any(map(_NO_ACCESS.fullmatch, words))
    return any(not (is_count and word.endswith(_PLURALS)) for word in secret)


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
        else:
            for each in listed:
                yield from secret_places(each, f"{here}.") if isinstance(each, Mapping) else ()


def split_secrets(text: str) -> tuple[str, list[str]]:
    """Return a text without the secrets in it that have a name, and these.

    Of an address user, password and fragment go, and what has a secret's name in its query.
    """
    secrets: list[str] = []

    def of_address(found: re.Match[str]) -> str:
        try:
            parts = urlsplit(found[0])
        except ValueError:
            return WITHHELD  # nobody can tell what is in it
        user, _, place = parts.netloc.rpartition("@")
        hidden, query = [user.partition(":")[2]], list[str]()
        for pair in filter(None, parts.query.split("&")):
            name, _, value = pair.partition("=")
            # A code is a key of functions in a cloud; elsewhere of a language or a disease.
            is_hidden = is_secret(unquote(name)) or name.lower() == "code"
            (hidden if is_hidden else query).append(value if is_hidden else pair)
        secrets.extend(form for each in hidden for form in {each, unquote(each)} if form)
        return urlunsplit((parts.scheme, place, parts.path, "&".join(query), ""))

    def of_pair(found: re.Match[str]) -> str:
        without = found[0].removesuffix(found["value"]) + WITHHELD
        return without if is_secret(found["name"]) else found[0]

    pairs = [pair for pair in _PAIR.finditer(text) if is_secret(pair["name"])]
    secrets += [pair["value"].strip("\"'{}") for pair in pairs]
    return _PAIR.sub(of_pair, _ADDRESS.sub(of_address, text)), secrets
