"""A model's reply read as the output of a task: JSON wherever it stands, or plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from medeval.json_reader import fold_key, last_object, whole_value
from medeval.text import split_thinking

_FENCE = re.compile(r"```[ \t]*+[\w+-]{0,20}+[ \t]*+\r?\n(.*?)```", re.DOTALL)
# A reply with this in it was meant to be data; broken or cut off, it is no text to be scored.
_LIKE_DATA = re.compile(r"\A[\[{]|\A```|[{\uff5b]\s*[\"'\u201c\u201d\uff02]")


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
    needed = [fold_key(key) for key in required]
    found = last_object(
        answer, needed, lambda members: all(_is_given(members.get(key)) for key in needed)
    )
    if found is not None:
        spelled = {fold_key(key): key for key in reversed(keys)}
        return {spelled[key]: each for key, each in found.members.items() if key in spelled}
    plain = _plain_text(answer, text_key) if text_key else ""
    return {text_key: plain} if text_key and plain else None


def _plain_text(answer: str, key: str) -> str:
    """Return a text without fence, quotes and the key's own name before it; "" for broken data."""
    fenced = _FENCE.fullmatch(answer)
    text = fenced[1].strip() if fenced else answer
    if text.startswith('"') and (quoted := whole_value(text)) is not None:
        text = str(quoted.value).strip()
    if _LIKE_DATA.search(text):
        return ""
    name = re.escape(key).replace("_", r"[\s_-]")
    # "Answer: ...", "**Answer:** ...", "### Answer" with the text on the next line.
    heading = re.compile(
        rf"[#*\s]{{0,9}}(?:final\s)?{name}(?:\s?\*{{0,2}}[:：]\*{{0,2}}|\*{{0,2}}\s?\n)\s*",
        re.IGNORECASE,
    ).match(text)
    return text[heading.end() :].strip() if heading else text


def _is_given(value: object) -> bool:
    """Tell an answer from nothing: no, 0 and false are answers."""
    return bool(value.strip()) if isinstance(value, str) else value not in (None, [], {})
