"""Calls of tools that a server hands over as text, since its own parser for them is off.

They are read where exactly one reading exists: between tags, or as one bare JSON object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from medeval.inference.types import Completion, ToolCall
from medeval.text import split_thinking, whole_json

_FLAGS = re.IGNORECASE | re.DOTALL
_BLOCK = re.compile(r"<tool_call>(?P<call>.*?)(?:</tool_call>|\Z)", _FLAGS)
_FUNCTION = re.compile(
    r"<function=(?P<name>[\w.-]{1,64})>(?P<inside>.*?)(?:</function>|\Z)", _FLAGS
)
_PARAMETER = re.compile(r"<parameter=([\w.-]{1,64})>|</parameter>", _FLAGS)
_FENCED = re.compile(r"```\w{0,20}\s*(?P<inside>\{.*\})\s*```", re.DOTALL)
# A mark of a template that speaks of a tool, in whatever brackets.
_MARK = re.compile(r"[<\[][^<>\[\]\n]{0,40}(?:tool|function)[^<>\[\]\n]{0,40}[>\]]", re.IGNORECASE)


class UnreadCallError(ValueError):
    """A reply calls a tool in text that cannot be read, or not in one way alone."""


def with_calls_in_text(completion: Completion, tools: Sequence[Mapping[str, Any]]) -> Completion:
    """Return a reply with the calls that stand in its text; as it is if there are none.

    Raises:
        UnreadCallError: there seem to be some.
    """
    text = split_thinking(completion.text).answer
    names = [tool["function"]["name"] for tool in tools]
    found = [*_BLOCK.finditer(text)] or [*_FUNCTION.finditer(text)]
    if found:
        read = [_call(each["call"] if "call" in each.groupdict() else each[0]) for each in found]
    else:
        bare = _FENCED.fullmatch(text)
        read = [_of_object(bare["inside"] if bare else text)]
    calls = [(name, arguments) for name, arguments in filter(None, read) if name in names]
    if len(calls) < len(read):
        if found or (_MARK.search(text) and any(name in text for name in names)):
            raise UnreadCallError
        return completion
    left = text[: found[0].start()].strip() if found else ""
    made = tuple(ToolCall(f"call_{n}", *call) for n, call in enumerate(calls))
    parts = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in made
    ]
    message = {"role": "assistant", "content": left or None, "tool_calls": parts}
    return replace(completion, tool_calls=made, message=message)


def _call(text: str) -> tuple[str, str] | None:
    function = _FUNCTION.fullmatch(text.strip())
    if function is None:
        return _of_object(text)
    inside = function["inside"].strip()
    read = _object(inside) if inside.startswith("{") else _parameters(inside)
    return None if read is None else (function["name"], json.dumps(read))


def _parameters(text: str) -> dict[str, str] | None:
    """Return the parameters that a text is made of; None if it holds anything else.

    One pass over the tags: a reply may have any number of them that never end.
    """
    found: dict[str, str] = {}
    name, read = None, 0
    for tag in _PARAMETER.finditer(text):
        if tag[1] is not None and name is not None:
            continue  # it stands in a value
        between = text[read : tag.start()].strip()
        if name is not None:
            found[name] = between
        elif between or tag[1] is None:
            return None
        name, read = tag[1], tag.end()
    return None if name is not None or text[read:].strip() else found


def _of_object(text: str) -> tuple[str, str] | None:
    """Return name and arguments of a JSON object that has both, or has one that has; else None."""
    read = _object(text)
    if read is not None and isinstance(read.get("function"), dict):
        read = read["function"]
    if read is None or not isinstance(read.get("name"), str):
        return None
    arguments = read.get("arguments", read.get("parameters"))
    if isinstance(arguments, str):
        arguments = _object(arguments)
    return (read["name"], json.dumps(arguments)) if isinstance(arguments, dict) else None


def _object(text: str) -> dict[str, Any] | None:
    try:
        read = whole_json(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
