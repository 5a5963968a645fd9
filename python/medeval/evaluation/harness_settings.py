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

from medeval.inference.secrets import (
    WITHHELD,
    holds_secret,
    is_secret,
    secrets_in_text,
    text_without_secrets,
)

__all__ = ["WITHHELD", "ModelSettings", "is_secret", "model_settings"]

# Of headers the names alone are written: what they carry is for their reader.
_HEADERS = "headers"
# What stands before a key in a header.
_SCHEME = re.compile(r"\A(?:Bearer|Basic|Token)\s+(\S+)\Z", re.IGNORECASE)
_FILES = ("path", "model_path")
_MODULE = "module_path"
# Shorter texts are words of their own, and taking them out would garble what is written.
_SHORTEST_SECRET = 6


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
            if not holds_secret(str(name), value)
        }

    def value(self, value: Any, place: str) -> Any:
        """Return a value as JSON."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            if place.rpartition(".")[2] == _HEADERS:
                return dict.fromkeys(sorted(map(str, value)), WITHHELD)
            return self.mapping(value, f"{place}.")
        if place.rpartition(".")[2] == _HEADERS:
            return WITHHELD
        if isinstance(value, str | Path):
            return self._text(str(value))
        if isinstance(value, list | tuple):
            return [self.value(member, place) for member in value]
        self.opaque.append(place)
        return f"{type(value).__module__}.{type(value).__qualname__}"

    def _text(self, text: str) -> str:
        # Names tell where secrets stand, so what has a name goes first.
        text = text_without_secrets(text)
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, WITHHELD)
        return text


def _secrets_in(value: Any, is_hidden: bool = False) -> list[str]:
    """Return the texts of a parameter, however deep, that are secrets or have some in them."""
    if isinstance(value, Mapping):
        return [
            secret
            for name, each in value.items()
            for secret in _secrets_in(each, is_hidden or name == _HEADERS or is_secret(str(name)))
        ]
    if isinstance(value, list | tuple):
        return [secret for each in value for secret in _secrets_in(each, is_hidden)]
    if not isinstance(value, str | Path):
        return []
    text = str(value)
    found = secrets_in_text(text)
    if is_hidden:
        found += [text, *_SCHEME.findall(text)]
    return [secret for secret in found if len(secret) >= _SHORTEST_SECRET]


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
