"""What is asked and what comes back: items, requests, replies, conversations, outcomes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from pydantic import ConfigDict, Field

from medeval.text import CREDENTIALED as CREDENTIALED
from medeval.text import OPEN as OPEN
from medeval.text import sha256_of

if TYPE_CHECKING:
    from medeval.inference.errors import Failure

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Sample:
    """One question to a model, or one turn of a conversation.

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
    def name(self) -> str:
        """What no other item of the run is called."""
        return f"{self.id}/{self.sample}"

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

    item: Sample
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
        return digest(parts)


def canonical(value: object) -> str:
    """Write JSON in the one form that hashes are taken of."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def digest(value: object) -> str:
    """Return the hash of JSON in its canonical form."""
    return sha256_of(canonical(value))


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
    value = list(value.values()) if isinstance(value, Mapping) else value
    if isinstance(value, list | tuple):
        return "\n".join(map(texts_of, value))
    return value if isinstance(value, str) else ""


def response_format(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameter that holds a reply to an object with these members and no others."""
    named = {"name": name, "strict": True, "schema": object_of(properties)}
    return {"type": "json_schema", "json_schema": named}


def object_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object that has all of these members and no others."""
    required = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **required}


# Lines of a journal are held to these too.
Count = Annotated[int, Field(ge=0, strict=True)]
Text = Annotated[str, Field(strict=True)]


@dataclass(frozen=True)
class Usage:
    """Tokens of one call as the endpoint counts them; None is unknown, which is not 0.

    Attributes:
        input_tokens: of the prompt, cached ones included.
        cached_tokens: of the prompt, read from the endpoint's cache.
        output_tokens: of the reply, thinking included.
        reasoning_tokens: of the reply, thought and not shown.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    input_tokens: Count | None = None
    cached_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None


def total(amounts: Iterable[Any]) -> Any:
    """Return a sum of tokens or money; None without any, or as soon as a part of it is unknown."""
    listed = list(amounts)
    return None if None in listed or not listed else sum(filter(None, listed))


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model wants to be used.

    Attributes:
        id: ties the answer to the call; made up if the endpoint gives none or one twice.
        name: of the tool; empty if the endpoint gives none.
        arguments: as the model wrote them, which need not be JSON.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    id: Text
    name: Text
    arguments: Text


@dataclass(frozen=True)
class Reply:
    """One reply.

    Attributes:
        text: what the model wrote; empty if it wrote nothing.
        reasoning: what it thought in a field of its own; empty if there is none.
        refusal: what it said in the field for refusals; empty if there is none.
        finish_reason: why it ended, in lower case; empty if the endpoint does not say.
        model: the model as the endpoint names it; empty if it does not.
        fingerprint: the endpoint's mark of its own set-up; empty if it has none.
        usage: tokens.
        tool_calls: what it wants to be done before it goes on; empty if it has answered.
        message: the message that calls tools as it came, which is how it goes back; None for any
            other.
    """

    text: str
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    model: str = ""
    fingerprint: str = ""
    usage: Usage = Usage()
    tool_calls: tuple[ToolCall, ...] = ()
    message: Mapping[str, Any] | None = None


class Outcome(StrEnum):
    """The one end that every item comes to.

    Attributes:
        ANSWERED: a complete reply that the task could read.
        UNPARSED: a complete reply in which the task found no answer.
        REFUSED: the model or its filter declined.
        TRUNCATED: cut off at the token limit while answering.
        TRUNCATED_REASONING: cut off while still thinking; there is no answer.
        EMPTY: a reply with nothing in it.
        ERRORED: no reply, after all attempts.
    """

    ANSWERED = "answered"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    TRUNCATED_REASONING = "truncated_reasoning"
    EMPTY = "empty"
    ERRORED = "errored"


class Ledger(Counter[Outcome]):
    """Counts of outcomes; their sum is the number of items that came to an end."""

    @property
    def asked(self) -> int:
        """The denominator: all items with an outcome, whatever it is."""
        return self.total()

    def as_json(self) -> dict[str, int]:
        """Return the denominator and its parts, zeros included, in a fixed order."""
        return {"asked": self.asked, **{str(outcome): self[outcome] for outcome in Outcome}}


class Model(Protocol):
    """Whoever answers: an endpoint, or a function in this process.

    Attributes:
        address: where requests go, in the form of the guard.
        model: its name as the user gave it.
        parameters: what is asked for, before an endpoint refuses some of it.
        learned: parameters that the endpoint refuses, each with what is sent instead.
    """

    address: str
    model: str
    parameters: Mapping[str, Any] = {}
    learned: Mapping[str, str] = {}

    async def ask(self, request: Request) -> Reply | Failure:
        """Ask once; a failure is why there is no reply.

        Raises:
            UserError: the request may not be sent.
        """

    async def close(self) -> None:
        """Give back what was opened; nothing was, if a class does not say otherwise."""
        return


@dataclass(frozen=True)
class Turn:
    """What came back in one turn.

    Attributes:
        completion: the reply; None if the conversation is too long for the model.
        outcome: what kind of reply it is; a call of tools counts as answered.
    """

    completion: Reply | None
    outcome: Outcome


@dataclass(frozen=True)
class Finished:
    """How an episode ended.

    Attributes:
        outcome: the one end that it counts under.
        text: the last reply, in which the answer is.
        reason: why it ended so or what was done to it, in one word; empty for the usual end.
        record: what a score needs to know of the way (JSON values).
        failure: if it is errored; what was wrong.
    """

    outcome: Outcome
    text: str = ""
    reason: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None


# Asks the next turn: the conversation so far, whole, with the parameters of this turn.
AskModel = Callable[[Sample], Awaitable[Turn]]


class Episode(Protocol):
    """One conversation to be had."""

    @property
    def opening(self) -> Sample:
        """What it begins with before anything is known; its name and key are of this."""

    async def play(self, ask: AskModel) -> Finished:
        """Have the conversation, anew with each call, and the same after the same replies.

        Raises:
            CallFailedError: it needs an answer of the endpoint beside those of the model, and
                there is none.
        """
