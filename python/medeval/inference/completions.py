"""A chat completion as endpoints return it, live or in a batch file, read without surprise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from medeval.inference.error_bodies import FINISH_REASONS, word
from medeval.text import whole, whole_json

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


End = Literal["complete", "cut_off", "declined"]


def end_of(finish_reason: str) -> End | None:
    """Tell how a reply ended; None if it broke off, since no good end is called so.

    What stands behind a colon explains the reason ("content_filter: SAFETY").
    """
    name = re.sub(r"[\W_]+", "_", finish_reason.split(":")[0].lower()).strip("_")
    ends: tuple[End, ...] = ("complete", "cut_off", "declined")
    return next((end for end in ends if name in FINISH_REASONS[end]), None)


class NoCompletionError(ValueError):
    """The body is no chat completion; the message names the field, never what was in it.

    Attributes:
        code: the reason for which the endpoint broke off, if it is one word; else empty.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


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
    if choice.get("error") or end_of(finish_reason) is None:
        named = "" if finish_reason == "error" else word(finish_reason)
        raise NoCompletionError("the endpoint broke off", named)
    message = _mapping(choice.get("message"), f"choices.{number}.message")
    calls = tuple(_tool_calls(message))
    return Completion(
        text=text_of(message.get("content")),
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        refusal=_text(message.get("refusal")),
        finish_reason=finish_reason,
        model=_text(answer.get("model")),
        fingerprint=_text(answer.get("system_fingerprint")),
        usage=read_usage(answer.get("usage")),
        tool_calls=calls,
        message=_sendable(message) if calls else None,
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


def _sendable(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a message as it can be sent again; None if a number in it is none of JSON."""
    try:
        json.dumps(message, allow_nan=False)
    except ValueError:
        return None
    mended: Mapping[str, Any] = whole_json(dict(message))
    return mended


def text_of(content: object) -> str:
    """Return the text of a message, which some endpoints send in parts.

    Raises:
        NoCompletionError: it is an object.
    """
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
