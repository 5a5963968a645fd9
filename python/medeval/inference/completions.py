"""A chat completion as endpoints return it, live or in a batch file, read without surprise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from medeval.text import whole

# A count beyond it is none.
_MOST_TOKENS = 10**12


@dataclass(frozen=True)
class Usage:
    """Tokens of one call as the endpoint counts them; None is unknown, which is not 0.

    Attributes:
        input_tokens: of the prompt, cached ones included.
        cached_tokens: of the prompt, read from the endpoint's cache.
        output_tokens: of the reply, thinking included.
        reasoning_tokens: of the reply, thought and not shown.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None

    def as_json(self) -> dict[str, int | None]:
        """Return the four counts."""
        return asdict(self)


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model wants to be used.

    Attributes:
        id: ties the answer to the call; made up if the endpoint gives none or one twice.
        name: of the tool; empty if the endpoint gives none.
        arguments: as the model wrote them, which need not be JSON.
    """

    id: str
    name: str
    arguments: str

    def as_json(self) -> dict[str, str]:
        """Return the three parts."""
        return asdict(self)

    def as_message_part(self) -> dict[str, Any]:
        """Return the call as chat endpoints take it back in the conversation."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(frozen=True)
class Completion:
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
    """

    text: str
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    model: str = ""
    fingerprint: str = ""
    usage: Usage = Usage()
    tool_calls: tuple[ToolCall, ...] = ()


class NoCompletionError(ValueError):
    """The body is no chat completion; the message names the field, never what was in it."""


def read_completion(body: object) -> Completion:
    """Read the body of a chat completion; halves of surrogate pairs in it become U+FFFD.

    Raises:
        NoCompletionError: it has no first choice with a message of text, or the endpoint broke off.
    """
    answer = _mapping(body, "the body")
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise NoCompletionError("the body has no choices")
    # Several may come though one is asked for, in any order; the first is the one of index 0.
    number = next((n for n, each in enumerate(choices) if _details(each).get("index") == 0), 0)
    choice = _mapping(choices[number], f"choices.{number}")
    finish_reason = _text(choice.get("finish_reason")).lower()
    if choice.get("error") or finish_reason == "error":
        raise NoCompletionError("the endpoint broke off")
    message = _mapping(choice.get("message"), f"choices.{number}.message")
    return Completion(
        text=_content(message.get("content")),
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        refusal=_text(message.get("refusal")),
        finish_reason=finish_reason,
        model=_text(answer.get("model")),
        fingerprint=_text(answer.get("system_fingerprint")),
        usage=read_usage(answer.get("usage")),
        tool_calls=tuple(_tool_calls(message)),
    )


def read_usage(usage: object) -> Usage:
    """Read token counts; whatever is absent or no count stays unknown."""
    if not isinstance(usage, Mapping):
        return Usage()
    of_input = _details(usage.get("prompt_tokens_details"))
    of_output = _details(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        cached_tokens=_count(of_input.get("cached_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(of_output.get("reasoning_tokens")),
    )


def _tool_calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Yield the calls of a message; the oldest endpoints have one, under another name."""
    found = message.get("tool_calls")
    calls = found if isinstance(found, list) else []
    if not calls and isinstance(message.get("function_call"), Mapping):
        calls = [{"function": message["function_call"]}]
    ids: set[str] = set()
    for number, call in enumerate(calls):
        parts = _details(call)
        function = _details(parts.get("function"))
        arguments = function.get("arguments")
        # Some endpoints send the arguments read already.
        text = _text(arguments) if isinstance(arguments, str) else json.dumps(arguments or {})
        given = _text(parts.get("id"))
        name = given if given and given not in ids else f"call_{number}"
        ids.add(name)
        yield ToolCall(name, _text(function.get("name")), text)


def _content(content: object) -> str:
    """Return the text, which some endpoints send in parts."""
    if isinstance(content, Mapping):
        raise NoCompletionError("the content of the message is a JSON object, not text")
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, Mapping))
    return _text(content)


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise NoCompletionError(f"{name} is no JSON object")
    return value


def _details(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return whole(value) if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS:
        return value
    return None
