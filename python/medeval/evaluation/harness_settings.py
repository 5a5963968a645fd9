"""What is recorded of how a model was loaded: everything but secrets.

A secret is known by the name of its parameter. It is left out of records and cache keys, and its
text is taken out of whatever else quotes it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

WITHHELD = "[withheld]"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS = frozenset(
    {
        "apikey",
        "auth",
        "authorization",
        "bearer",
        "cookie",
        "credential",
        "credentials",
        "key",
        "passphrase",
        "passwd",
        "password",
        "secret",
        "signature",
        "token",
    }
)
# Of headers the names alone are written: what they carry is for their reader.
_HEADERS = "headers"
_FILES = ("path", "model_path")
_MODULE = "module_path"
# Shorter texts are words of their own, and taking them out would garble what is written.
_SHORTEST_SECRET = 6


def is_secret(name: str) -> bool:
    """Tell whether a parameter of this name holds a secret; `max_tokens` does not."""
    return not _SECRET_WORDS.isdisjoint(word.lower() for word in _WORD.findall(name))


@dataclass(frozen=True)
class ModelSettings:
    """How a model was loaded, fit to be written down.

    Attributes:
        recorded: name, type, parameters and the runner's description as JSON values, without
            secrets.
        decisive: the same with the state of the model's files, for keys of caches.
        prompt_version: of the text that the runner puts around inputs; empty for none.
        opaque: why no key can be made: parameters that are objects of the program, or a model
            that was loaded elsewhere.
        secrets: texts that must be written nowhere.
    """

    recorded: Mapping[str, Any]
    decisive: Mapping[str, Any]
    prompt_version: str
    opaque: tuple[str, ...]
    secrets: frozenset[str]

    def scrubbed(self, text: str) -> str:
        """Return a text without the secrets."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, WITHHELD)
        return text


def model_settings(
    model_id: str,
    model_type: str | None,
    parameters: Mapping[str, Any],
    described: Mapping[str, Any],
) -> ModelSettings:
    """Return what may be recorded of a model.

    Args:
        model_id: its name.
        model_type: as the runner calls it; None for one that was loaded before.
        parameters: what it was loaded with.
        described: what the runner says of it.
    """
    secrets = frozenset(_secrets_in(parameters) + _secrets_in(described))
    opaque = [] if model_type else ["loaded before"]
    recorded = {
        "id": model_id,
        "type": model_type or described.get("type"),
        "parameters": _Writer(secrets, opaque).mapping(parameters, ""),
        "described": _Writer(secrets, opaque).mapping(described, "described."),
    }
    decisive = {**recorded, "files": _states(parameters)}
    prompt_version = str(described.get("prompt_version", ""))
    return ModelSettings(recorded, decisive, prompt_version, tuple(opaque), secrets)


@dataclass(frozen=True)
class _Writer:
    """Turns parameters into JSON values; what it cannot turn it names in `opaque`."""

    secrets: frozenset[str]
    opaque: list[str]

    def mapping(self, values: Mapping[Any, Any], place: str) -> dict[str, Any]:
        """Return a mapping without its secrets."""
        return {
            str(name): self.value(value, f"{place}{name}")
            for name, value in values.items()
            if not is_secret(str(name))
        }

    def value(self, value: Any, place: str) -> Any:
        """Return a value as JSON."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str | Path):
            return self._text(str(value))
        if isinstance(value, Mapping):
            if place.rpartition(".")[2] == _HEADERS:
                return dict.fromkeys(sorted(map(str, value)), WITHHELD)
            return self.mapping(value, f"{place}.")
        if isinstance(value, list | tuple):
            return [self.value(member, place) for member in value]
        self.opaque.append(place)
        return f"{type(value).__module__}.{type(value).__qualname__}"

    def _text(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, WITHHELD)
        return _bare_address(text) if "://" in text else text


def _secrets_in(values: Mapping[Any, Any], are_all: bool = False) -> list[str]:
    found: list[str] = []
    for name, value in values.items():
        hidden = are_all or is_secret(str(name))
        if isinstance(value, Mapping):
            found += _secrets_in(value, hidden or name == _HEADERS)
        elif hidden and isinstance(value, str) and len(value) >= _SHORTEST_SECRET:
            found.append(value)
    return found


def _bare_address(text: str) -> str:
    """Return a web address without user, password and the secrets of its query."""
    parts = urlsplit(text)
    query = [(name, value) for name, value in parse_qsl(parts.query) if not is_secret(name)]
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, place, parts.path, urlencode(query), ""))


def _states(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of the files that a model is made of, as far as parameters name them."""
    states = {
        name: _state(Path(value))
        for name in _FILES
        if isinstance(value := parameters.get(name), str | Path)
    }
    if isinstance(module := parameters.get(_MODULE), str):
        states[_MODULE] = _module_state(module)
    return states


def _module_state(module: str) -> Any:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None  # a runner that cannot import it says so when it loads the model
    return _state(Path(spec.origin)) if spec and spec.origin else None


def _state(path: Path) -> Any:
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    if not path.is_dir():
        return None
    # Weights are large: their sizes and times stand for what they hold.
    return [
        [str(file.relative_to(path)), (status := file.stat()).st_size, status.st_mtime_ns]
        for file in sorted(path.rglob("*"))
        if file.is_file()
    ]
