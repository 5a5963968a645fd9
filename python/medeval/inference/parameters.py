"""Parameters that an endpoint refuses: learned once, sent no more, and recorded.

What its words do not say is found by experiment: the request without one optional part at a time.
Nothing is taken away silently: the run says which parameters were left out or renamed, and whether
a system message was sent as words of the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from medeval.inference.error_bodies import CODES, TEXTS
from medeval.inference.errors import NO_SYSTEM_ROLE, TOO_LONG, Failure, Kind
from medeval.inference.types import Message

RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
DROPPED = (
    "temperature",
    "top_p",
    "response_format",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "stop",
    "reasoning_effort",
    "tool_choice",
    "logprobs",
    "top_logprobs",
)
# What an answer may need. Anything else (store, metadata, user, a search in the web) may have the
# endpoint keep text, pass it on or tell whose it is.
PLAIN = {
    *(*RENAMED, *DROPPED, "logit_bias", "parallel_tool_calls", "verbosity"),
    *("tools", "tools.function"),
}
LEFT_OUT = ""
RESPONSE_FORMAT = "response_format"
# What an endpoint that takes no schema is sent instead, before the parameter is left out.
JSON_OBJECT = "json_object"
# What is learned where a template has no place for a system message.
SYSTEM_ROLE = "system role"
_AS_USER = "user"
_OTHER_NAMES = {
    RESPONSE_FORMAT: r"response_format|json[ _](?:mode|schema|object)|structured output"
}


class Adaptation:
    """What has been learned about one model at one endpoint."""

    def __init__(self) -> None:
        self._learned: dict[str, str] = {}

    def recall(self, learned: Mapping[str, str]) -> None:
        """Take over what an earlier start had learned, as `learned` gives it."""
        self._learned.update(learned)

    @property
    def learned(self) -> dict[str, str]:
        """Each refused parameter with the one sent instead; empty where it is left out.

        A schema that is refused is asked for as a plain JSON object first: `json_object`.
        """
        return dict(self._learned)

    def apply(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters as this endpoint takes them."""
        adapted = {}
        for name, value in parameters.items():
            sent = self._learned.get(name, name)
            if name == RESPONSE_FORMAT and sent == JSON_OBJECT:
                adapted[name] = {"type": JSON_OBJECT}
            elif sent != LEFT_OUT:
                adapted[sent] = value
        return adapted

    def messages(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Return messages as this endpoint takes them.

        Where there may be no system message its words stand before the user's first ones.
        """
        if SYSTEM_ROLE not in self._learned:
            return [dict(message) for message in messages]
        told = [str(message["content"]) for message in messages if _is_system(message)]
        rest = [dict(message) for message in messages if not _is_system(message)]
        if not told:
            return rest
        first = rest[0] if rest else {}
        if first.get("role") == "user" and isinstance(first.get("content"), str):
            told.append(first["content"])
            rest = rest[1:]
        return [{**first, "role": "user", "content": "\n\n".join(told)}, *rest]

    def trials(
        self, sent: Mapping[str, Any], messages: Sequence[Message]
    ) -> Iterator[dict[str, str]]:
        """Yield what there may be to learn of a refused request, one part at a time.

        Args:
            sent: the parameters it had, as `apply` gave them.
            messages: that it had, as `messages` gave them.
        """
        if RESPONSE_FORMAT in sent:
            if _is_schema(sent[RESPONSE_FORMAT]):
                yield {RESPONSE_FORMAT: JSON_OBJECT}
            yield {RESPONSE_FORMAT: LEFT_OUT}
        yield from ({name: LEFT_OUT} for name in ("temperature", "seed") if name in sent)
        for name, other in RENAMED.items():
            if name in sent and other not in self._learned:
                yield {name: other}
        if any(map(_is_system, messages)):
            yield {SYSTEM_ROLE: _AS_USER}

    def learn(
        self, failure: Failure, sent: Mapping[str, Any], messages: Sequence[Message] = ()
    ) -> bool:
        """Learn from a refused request; tell whether the next one will differ from it.

        Args:
            failure: of the request.
            sent: the parameters it had, as `apply` gave them.
            messages: that it had, as `messages` gave them.
        """
        if failure.kind is not Kind.REQUEST or failure.code == TOO_LONG:
            return False
        if failure.code == NO_SYSTEM_ROLE and any(map(_is_system, messages)):
            self._learned[SYSTEM_ROLE] = _AS_USER
            return True
        if failure.status not in (400, 422):
            return False
        refused = self._refused(failure, sent)
        if refused is None:
            return False
        if refused == RESPONSE_FORMAT:
            self._step_down(sent[RESPONSE_FORMAT])
            return True
        asked = next((name for name, now in self._learned.items() if now == refused), refused)
        other = RENAMED.get(refused, LEFT_OUT)
        # Refused under both names, it can only be left out; a limit of tokens that is gone would
        # make a run dear, so that stays an error.
        if asked != refused and other != LEFT_OUT:
            return False
        if asked in self._learned and self._learned[asked] != refused:
            return True  # another request has taught it in the meantime
        self._learned[asked] = other
        return True

    def _step_down(self, refused: Any) -> None:
        """Ask for less structure than was refused, unless another request has taught as much."""
        if _is_schema(refused):
            self._learned.setdefault(RESPONSE_FORMAT, JSON_OBJECT)
        else:
            self._learned[RESPONSE_FORMAT] = LEFT_OUT

    @staticmethod
    def _refused(failure: Failure, sent: Mapping[str, Any]) -> str | None:
        """Return which of the sent parameters the endpoint does not take; None if it is none."""
        known = [name for name in sent if name in RENAMED or name in DROPPED]
        is_refusal = failure.code in CODES["parameter"] or (
            TEXTS["parameter"].search(failure.detail) is not None
        )
        if not is_refusal:
            return None
        named = failure.parameter.split(".")[0]
        if named:
            return named if named in known else None
        # The first that the message names: the second is the one to use instead.
        found = [(match.start(), name) for name in known if (match := _named(name, failure.detail))]
        return min(found)[1] if found else None


def _is_schema(form: Any) -> bool:
    return isinstance(form, Mapping) and form.get("type") == "json_schema"


def _is_system(message: Message) -> bool:
    return message.get("role") == "system"


def _named(name: str, message: str) -> re.Match[str] | None:
    pattern = _OTHER_NAMES.get(name, name)
    return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", message, re.IGNORECASE)
