"""A model's reply read as the output of a task: JSON wherever it stands, or plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from medeval.inference.thinking import split_thinking
from medeval.text import whole_json

_FENCE = re.compile(r"```[ \t]*[\w+-]{0,20}[ \t]*\r?\n(.*?)```", re.DOTALL)
# A reply with this in it was meant to be data; broken or cut off, it is no text to be scored.
_LIKE_DATA = re.compile(r"\A[\[{]|\A```|\{\s*\"")
_OPENING = re.compile(r"\{\s*\"")
# So that no reply takes long to read; one that is meant to be read has a few.
_MOST_OBJECTS = 1000
_COMMA_BEFORE_CLOSER = re.compile(r",(\s*[}\]])")


def read_output(
    text: str, keys: Sequence[str], required: Sequence[str], text_key: str | None
) -> dict[str, Any] | None:
    """Read a reply.

    Args:
        text: the reply; thinking in it is not looked at.
        keys: that are kept, spelled as they are to be returned.
        required: of which none may be missing or empty.
        text_key: under which a reply without JSON is returned; None if it is not to be.

    Returns:
        The output; None if there is none to be read.
    """
    answer = split_thinking(text).answer
    if not answer:
        return None
    spelled = {_folded(key): key for key in reversed(keys)}
    for data in (answer, _COMMA_BEFORE_CLOSER.sub(r"\1", answer)):
        outputs = [
            {spelled[key]: value for key, value in _with_folded_keys(each) if key in spelled}
            for each in _objects(data)
        ]
        for output in reversed(outputs):
            if all(_is_given(output.get(key)) for key in required):
                return output
    plain = _plain_text(answer, text_key) if text_key and not outputs else ""
    return {text_key: plain} if text_key and plain else None


def _with_folded_keys(read: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(_folded(key), value) for key, value in read.items()]


def _objects(answer: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a reply; of objects in objects only the outer ones.

    After one that is broken the search goes on where it broke.
    """
    place = 0
    for _ in range(_MOST_OBJECTS):
        opening = _OPENING.search(answer, place)
        if opening is None:
            return
        try:
            value, place = _DECODER.raw_decode(answer, opening.start())
            yield whole_json(value)
        except json.JSONDecodeError as error:
            place = max(opening.start() + 1, error.pos)
        except (ValueError, RecursionError):
            return  # a number out of all bounds, or too deep to be meant


def _plain_text(answer: str, key: str) -> str:
    """Return a text without fence, quotes and the key's own name before it; "" for broken data."""
    fenced = _FENCE.fullmatch(answer)
    text = fenced[1].strip() if fenced else answer
    if text.startswith('"'):
        try:
            quoted = whole_json(_DECODER.decode(text))
            text = quoted.strip() if isinstance(quoted, str) else text
        except ValueError:
            pass  # a quotation at the start of a sentence
    if _LIKE_DATA.search(text):
        return ""
    name = re.escape(key).replace("_", r"[\s_-]")
    # "Answer: ...", "**Answer:** ...", "### Answer" with the text on the next line.
    heading = re.compile(
        rf"[#*\s]{{0,9}}(?:final\s)?{name}(?:\s?\*{{0,2}}[:：]\*{{0,2}}|\*{{0,2}}\s?\n)\s*",
        re.IGNORECASE,
    ).match(text)
    return text[heading.end() :].strip() if heading else text


def _folded(key: str) -> str:
    return re.sub(r"[\s_-]+", "_", key.strip().casefold())


def _is_given(value: object) -> bool:
    """Tell an answer from nothing: no, 0 and false are answers."""
    return bool(value.strip()) if isinstance(value, str) else value not in (None, [], {})


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Line breaks inside strings are what models write.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
