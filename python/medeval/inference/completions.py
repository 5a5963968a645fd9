"""A chat completion as endpoints return it, live or in a batch file, read without surprise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


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
    """

    text: str
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    model: str = ""
    fingerprint: str = ""
    usage: Usage = Usage()


class NoCompletionError(ValueError):
    """The body is no chat completion; the message names the field, never what was in it."""


def read_completion(body: object) -> Completion:
    """Read the body of a chat completion.

    Raises:
        NoCompletionError: it has no first choice with a message, or the endpoint broke off.
    """
    answer = _mapping(body, "the body")
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise NoCompletionError("the body has no choices")
    choice = _mapping(choices[0], "choices.0")
    finish_reason = _text(choice.get("finish_reason")).lower()
    if choice.get("error") or finish_reason == "error":
        raise NoCompletionError("the endpoint broke off")
    message = _mapping(choice.get("message"), "choices.0.message")
    return Completion(
        text=_content(message.get("content")),
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        refusal=_text(message.get("refusal")),
        finish_reason=finish_reason,
        model=_text(answer.get("model")),
        fingerprint=_text(answer.get("system_fingerprint")),
        usage=read_usage(answer.get("usage")),
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


def _content(content: object) -> str:
    """Return the text, which some endpoints send in parts."""
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
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None
