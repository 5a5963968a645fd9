"""What is recorded of how a model was loaded: everything but secrets.

A secret is known by the name of its parameter. It is left out of records and cache keys, and its
text is taken out of whatever else quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from medeval.inference.secrets import (
    WITHHELD,
    holds_secret,
    is_secret,
    secrets_in_text,
    text_without_secrets,
)

__all__ = ["WITHHELD", "ModelSettings", "model_settings"]

# Of headers the names alone are written: what they carry is for their reader.
_HEADERS = "headers"
# What stands before a key in a header.
_SCHEME = re.compile(r"\A(?:Bearer|Basic|Token)\s+(\S+)\Z", re.IGNORECASE)
# Shorter texts are words of their own, and taking them out would garble what is written.
_SHORTEST_SECRET = 6


@dataclass(frozen=True)
class ModelSettings:
    """How a model was loaded, fit to be written down.

    Attributes:
        model_id: its name.
        recorded: name, type, parameters and the runner's description as JSON values, without
            secrets.
        is_data: it is told apart by these: no parameter is an object of the program, and the model
            was not loaded elsewhere.
        scrubbed: takes the secrets out of a text.
    """

    model_id: str
    recorded: Mapping[str, Any]
    is_data: bool
    scrubbed: Callable[[str], str]


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
    secrets = {secret for given in (parameters, described) for secret in _secrets_in(given)}
    # The longest first, as one may hold another.
    known = "|".join(map(re.escape, sorted(secrets, key=len, reverse=True)))
    scrubbed = partial(re.compile(known or r"(?!)").sub, WITHHELD)
    objects: list[str] = []
    recorded = {
        "id": model_id,
        "type": model_type or described.get("type"),
        "parameters": _written(parameters, scrubbed, objects),
        "described": _written(described, scrubbed, objects),
    }
    return ModelSettings(model_id, recorded, model_type is not None and not objects, scrubbed)


def _written(
    value: Any, scrubbed: Callable[[str], str], objects: list[str], is_headers: bool = False
) -> Any:
    """Return a value as JSON without its secrets; `objects` gets the classes of what is none."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        if is_headers:
            return dict.fromkeys(sorted(map(str, value)), WITHHELD)
        return {
            str(name): _written(each, scrubbed, objects, name == _HEADERS)
            for name, each in value.items()
            if not holds_secret(str(name), each)
        }
    if is_headers:
        return WITHHELD
    if isinstance(value, str | Path):
        # Names tell where secrets stand, so what has a name goes first.
        return scrubbed(text_without_secrets(str(value)))
    if isinstance(value, list | tuple):
        return [_written(member, scrubbed, objects) for member in value]
    objects.append(f"{type(value).__module__}.{type(value).__qualname__}")
    return objects[-1]


def _secrets_in(value: Any, is_hidden: bool = False) -> Iterator[str]:
    """Yield the texts of a parameter, however deep, that are secrets or have some in them."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _secrets_in(each, is_hidden or name == _HEADERS or is_secret(str(name)))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _secrets_in(each, is_hidden)
    elif isinstance(value, str | Path):
        text = str(value)
        own = [text, *_SCHEME.findall(text)] if is_hidden else []
        found = [*secrets_in_text(text), *own]
        yield from (secret for secret in found if len(secret) >= _SHORTEST_SECRET)
