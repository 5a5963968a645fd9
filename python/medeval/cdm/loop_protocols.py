"""How a model is told of tools and asks for them: in the endpoint's own form, or in text."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, Self

from medeval.cdm import prompts
from medeval.cdm.loop_actions import arguments_in
from medeval.cdm.loop_answers import FinalAnswer, read_answer
from medeval.cdm.loop_text import STOP, read_written
from medeval.inference.thinking import split_thinking
from medeval.inference.types import Completion, Message, ToolCall
from medeval.text import whole_value

ToolProtocol = Literal["native", "text"]

# What endpoints take as the name of a function: letters, digits, "_" and "-", at most 64 of them.
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_NO_NAME = "unknown"


@dataclass(frozen=True)
class Wish:
    """One call that a model wants to be made.

    Attributes:
        id: ties the answer to it.
        name: of the tool.
        arguments: of the call; None if they cannot be read.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True)
class Reply:
    """A reply as the loop goes on with it.

    Attributes:
        message: to be put into the conversation.
        wishes: the calls that it wants.
        answer: the final answer; None if there is none.
        customs: places where another layout than the one asked for had to be understood.
    """

    message: Message
    wishes: tuple[Wish, ...] = ()
    answer: FinalAnswer | None = None
    customs: int = 0


class Protocol(ABC):
    """One way of using tools, in one conversation.

    Args:
        definitions: of the tools.
    """

    ask_again: str
    decide: str

    def __init__(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        self._definitions = {tool["function"]["name"]: tool for tool in definitions}

    def begun(self) -> Self:
        """Return the protocol as it is at the beginning of a conversation."""
        return type(self)(list(self._definitions.values()))

    @abstractmethod
    def system(self) -> str:
        """Return the system prompt."""

    @abstractmethod
    def parameters(self, is_deciding: bool) -> dict[str, Any]:
        """Return what a request needs beside its messages."""

    @abstractmethod
    def read(self, completion: Completion) -> Reply:
        """Read a reply."""

    @abstractmethod
    def answered(self, answers: Sequence[tuple[Wish, str]]) -> list[Message]:
        """Return the messages that answer calls."""

    def arguments_of(self, name: str) -> str:
        """Return the names of a tool's arguments, in words."""
        tool = self._definitions.get(name)
        return prompts.arguments_of(tool) if tool else "none"


class Native(Protocol):
    """Tools in the form of OpenAI."""

    ask_again = prompts.ASK_AGAIN_NATIVE
    decide = prompts.DECIDE_NATIVE

    def __init__(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(definitions)
        self._ids: set[str] = set()

    def system(self) -> str:
        """Return the system prompt."""
        return prompts.SYSTEM_NATIVE

    def parameters(self, is_deciding: bool) -> dict[str, Any]:
        """Return the tools: endpoints want them as long as the conversation has calls in it."""
        if not self._definitions:
            return {}
        choice = {"tool_choice": "none"} if is_deciding else {}
        return {"tools": list(self._definitions.values()), **choice}

    def read(self, completion: Completion) -> Reply:
        """Read the calls, else the answer."""
        text = split_thinking(completion.text).answer
        read = [self._wish(call) for call in completion.tool_calls]
        if not read:
            answer = read_answer(text)
            return Reply({"role": "assistant", "content": text or prompts.NO_REPLY}, answer=answer)
        wishes = tuple(wish for wish, _ in read)
        came = completion.message or {"content": text}
        parts = came.get("tool_calls")
        parts = parts if isinstance(parts, list) and parts else [{}] * len(wishes)
        calls = [_sent_back(wish, part) for wish, part in zip(wishes, parts, strict=True)]
        message = {**came, "role": "assistant", "tool_calls": calls}
        message.pop("function_call", None)  # of which it is the newer form
        return Reply(message, wishes, customs=sum(is_custom for _, is_custom in read))

    def answered(self, answers: Sequence[tuple[Wish, str]]) -> list[Message]:
        """Return a message for each call."""
        return [
            {"role": "tool", "tool_call_id": wish.id, "content": text} for wish, text in answers
        ]

    def _wish(self, call: ToolCall) -> tuple[Wish, bool]:
        """Return a call, and whether it came in another form than asked for."""
        name = self._tool_in(call.name)
        arguments, is_custom = self._arguments(call.arguments, name)
        return Wish(self._own_id(call.id), name, arguments), is_custom or name != call.name

    def _tool_in(self, name: str) -> str:
        """Return the tool that is one word of a name, as in functions.request_lab_test:0.

        Models put the name's place in their template around it. A name without a tool stays.
        """
        tools = [word for word in _NOT_OF_A_NAME.split(name) if word in self._definitions]
        return tools[0] if len(tools) == 1 else name

    def _own_id(self, given: str) -> str:
        """Return an id that no earlier call of the conversation has.

        Some endpoints count anew in each reply. The new ids are such as the strictest take: nine
        letters and digits.
        """
        made = (f"call{number:05}" for number in count(len(self._ids)))
        name = given if given not in self._ids else next(n for n in made if n not in self._ids)
        self._ids.add(name)
        return name

    def _arguments(self, text: str, name: str) -> tuple[dict[str, Any] | None, bool]:
        """Return the arguments of a call of a tool, and whether another form was understood."""
        if not text.strip():
            return {}, False
        found = whole_value(text)
        is_twice = False
        if found is not None and isinstance(found.value, str):
            is_twice = found.value.lstrip().startswith("{")
            found = whole_value(found.value) if is_twice else found
        if found is None or not found.is_clear:
            return None, is_twice
        read, is_custom = found.value, is_twice or not found.is_strict
        if isinstance(read, dict):
            return read, is_custom
        tool = self._definitions.get(name)
        names = list(tool["function"]["parameters"].get("properties", {})) if tool else []
        if isinstance(read, str) and len(names) == 1:
            return {names[0]: read}, True
        return {} if read is None else None, is_custom


def _sent_back(wish: Wish, came: Any) -> dict[str, Any]:
    """Return a call as the conversation goes on with it: as it came, where endpoints take that.

    What was no JSON goes back as an empty object, and a name in the letters of names: some
    endpoints read them and fail.
    """
    call = dict(came) if isinstance(came, Mapping) else {}
    given = call.get("function")
    function = dict(given) if isinstance(given, Mapping) else {}
    function["name"] = _NOT_OF_A_NAME.sub("_", wish.name)[:_LONGEST_NAME] or _NO_NAME
    arguments = function.get("arguments")
    if not isinstance(arguments, Mapping) and not _is_object(arguments):
        function["arguments"] = json.dumps(dict(wish.arguments or {}))
    return {"type": "function", **call, "id": wish.id, "function": function}


def _is_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


class Text(Protocol):
    """Tools as lines of text, for models that cannot call them."""

    ask_again = prompts.ASK_AGAIN_TEXT
    decide = prompts.DECIDE_TEXT

    def system(self) -> str:
        """Return the system prompt with the tools in words."""
        return prompts.system_text(list(self._definitions.values()))

    def parameters(self, is_deciding: bool) -> dict[str, Any]:
        """Return where the model is to stop, so that it makes up no result."""
        return {"stop": list(STOP)}

    def read(self, completion: Completion) -> Reply:
        """Read an action, else the answer."""
        written = read_written(split_thinking(completion.text).answer, list(self._definitions))
        message = {"role": "assistant", "content": written.text or prompts.NO_REPLY}
        customs = int(written.is_custom)
        if not written.action:
            return Reply(message, answer=written.answer, customs=customs)
        tool = self._definitions.get(written.action)
        arguments = arguments_in(written.action_input, tool) if tool else {}
        return Reply(message, (Wish("", written.action, arguments),), customs=customs)

    def answered(self, answers: Sequence[tuple[Wish, str]]) -> list[Message]:
        """Return the one observation."""
        return [{"role": "user", "content": f"Observation: {text}"} for _, text in answers]


PROTOCOLS: Mapping[ToolProtocol, type[Protocol]] = {"native": Native, "text": Text}
