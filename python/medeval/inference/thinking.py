"""A reply taken apart: what a model thought aloud, and what it answered.

Only the answer is ever read for letters, scores or text: an option that a model weighed and
rejected while thinking is no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

State = Literal["complete", "truncated_reasoning", "empty"]

# Angle brackets as they are, escaped, in full width and as triangles; square ones for [THINK] only,
# since "[reasoning]" in square brackets is a heading of ordinary text. In bars with words of their
# own they are begin and end. Every repetition is bounded, so that no reply takes long to read.
_TAG = re.compile(
    r"""
    (?:<|&lt;|\uFF1C|\u25C1)
    \s?(?P<angle_end>[/\uFF0F]?)\s?
    (?:think|thinking|thought|reason|reasoning|seed:think|antThinking)
    (?:  # attributes
        \s{1,4}[\w:-]{1,40}\s?=\s?
        (?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[^\s<>"'/]{1,200})
    ){0,8}
    \s?(?P<angle_both>/?)
    (?:>|&gt;|\uFF1E|\u25B7)
    |
    \[\s?(?P<square_end>/?)\s?THINK\s?\]
    |
    <\|\s?(?:begin|(?P<bar_end>end))_of_thought\s?\|>
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What such models put around the answer itself.
_SOLUTION = re.compile(r"<\|\s?(?:begin|end)_of_solution\s?\|>", re.IGNORECASE)
# The raw form of harmony, in which each part of a reply names its channel before its text.
_CHANNEL = re.compile(
    r"(?:<\|start\|>[^<]{0,200})?<\|channel\|>(?P<name>[^<]{0,200})"
    r"(?:<\|constrain\|>[^<]{0,200})?(?:<\|message\|>|\Z)",
    re.IGNORECASE,
)
_END_OF_PART = re.compile(r"<\|(?:end|return|call|start|channel)\|>", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """A reply without its thinking.

    Attributes:
        answer: what is left to be read, without space around it; empty unless the reply is
            complete.
        thinking: the blocks that were taken out, one under another.
        state: complete, cut off while still thinking, or empty.
    """

    answer: str
    thinking: str
    state: State


def split_thinking(text: str) -> Reply:
    """Take the thinking out of a reply.

    Closed blocks are removed wherever they stand. After a closing tag without an opening one (the
    prompt's template had opened it) only what follows the last such tag counts. A block that is
    never closed means that the model was cut off: then there is no answer, whatever stood before.
    Of a reply in channels only the final one is read.
    """
    thought, final = _channels(text)
    if final is None:
        return Reply("", _joined(thought), "truncated_reasoning")
    reply = _without_blocks(final)
    return replace(reply, thinking=_joined([*thought, reply.thinking])) if thought else reply


def _without_blocks(text: str) -> Reply:
    answer: list[str] = []
    thinking: list[str] = []
    is_thinking = False
    read = 0
    for tag in _TAG.finditer(text):
        before = text[read : tag.start()]
        read = tag.end()
        if tag["angle_both"]:
            (thinking if is_thinking else answer).append(before)
        elif not _is_end(tag):
            # An opening tag inside a block is something the model thinks about.
            (thinking if is_thinking else answer).append(before)
            is_thinking = True
        elif is_thinking:
            thinking.append(before)
            is_thinking = False
        else:
            thinking.extend([*answer, before])
            answer.clear()
    rest = text[read:]
    if is_thinking:
        return Reply("", _joined([*answer, *thinking, rest]), "truncated_reasoning")
    left = _SOLUTION.sub("", "".join([*answer, rest])).strip()
    return Reply(left, _joined(thinking), "complete" if left else "empty")


def after_thinking(text: str) -> str:
    """Return what a reply says once it has thought: all that follows its last closing tag.

    Unlike `split_thinking` it keeps what stands before a block that is never closed: for readers
    of a form that is either there as a whole or is not.
    """
    text = _channels(text)[1] or ""
    start = 0
    opened: int | None = None
    for tag in _TAG.finditer(text):
        if tag["angle_both"]:
            continue
        if _is_end(tag):
            start, opened = tag.end(), None
        elif opened is None:
            opened = tag.start()
    return text[start:opened]


def _is_end(tag: re.Match[str]) -> bool:
    return bool(tag["angle_end"] or tag["square_end"] or tag["bar_end"])


def _channels(text: str) -> tuple[list[str], str | None]:
    """Take a reply in channels apart into what was thought and what is final.

    Returns:
        The text itself as final if it has no channels; None if they come to no final one.
    """
    heads = list(_CHANNEL.finditer(text)) if "<|" in text else []
    if not heads:
        return [], text
    thought = [text[: heads[0].start()]]
    final: list[str] = []
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.end() : None if following is None else following.start()]
        part = _END_OF_PART.split(part, maxsplit=1)[0]
        is_final = head["name"].strip().lower().startswith("final")
        (final if is_final else thought).append(part)
    return [_END_OF_PART.sub("", part) for part in thought], "".join(final) if final else None


def _joined(parts: list[str]) -> str:
    return "\n".join(stripped for part in parts if (stripped := part.strip()))
