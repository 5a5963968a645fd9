"""What is asked: an item, the request made of it, and the key that names the request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from medeval.data_class import CREDENTIALED as CREDENTIALED
from medeval.data_class import OPEN as OPEN

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Item:
    """One question to a model.

    Attributes:
        id: names it within the run; unique together with the sample.
        messages: the conversation to be continued, as chat endpoints take it.
        data_class: `open`, or anything else and None: credentialed.
        sample: which of several answers to the same question this is to be.
        parameters: of this item, beside those of the run; such as the form of its reply.
    """

    id: str
    messages: Sequence[Message]
    data_class: str | None = None
    sample: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Tell whether it may go anywhere; what is not plainly open may not."""
        return self.data_class == OPEN


@dataclass(frozen=True)
class Request:
    """An item with everything that decides what comes back.

    Attributes:
        item: what is asked.
        endpoint: where, as the guard writes addresses.
        model: who.
        parameters: how, as the user set it for all items.
        prompt_version: of the text around the item's own.
    """

    item: Item
    endpoint: str
    model: str
    parameters: Mapping[str, Any]
    prompt_version: str

    @property
    def all_parameters(self) -> dict[str, Any]:
        """The parameters of the run with the item's own."""
        return {**self.parameters, **self.item.parameters}

    @cached_property
    def key(self) -> str:
        """The SHA-256 of all that decides the answer: the same key, the same request."""
        parts = {
            "endpoint": self.endpoint,
            "model": self.model,
            "parameters": self.all_parameters,
            "messages": [dict(message) for message in self.item.messages],
            "sample": self.item.sample,
            "prompt_version": self.prompt_version,
        }
        return hashlib.sha256(canonical(parts).encode()).hexdigest()


def canonical(value: object) -> str:
    """Write JSON in the one form that hashes are taken of."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def body_of(request: Request, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a chat completion with the given parameters.

    Each further sample is asked with the next seed: with the same one it would be the same answer.
    """
    messages = [dict(message) for message in request.item.messages]
    body = {"model": request.model, "messages": messages, **parameters, "stream": False}
    if isinstance(body.get("seed"), int):
        body["seed"] += request.item.sample
    return body


def texts_of(value: object) -> str:
    """Return all texts of a request's body, a line each, for what a server may quote of them."""
    if isinstance(value, Mapping):
        return "\n".join(map(texts_of, value.values()))
    if isinstance(value, list | tuple):
        return "\n".join(map(texts_of, value))
    return value if isinstance(value, str) else ""
