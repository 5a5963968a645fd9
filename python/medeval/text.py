"""Text that others wrote: made fit for UTF-8, shown, and taken apart into thinking and answer.

Of a reply only the answer is ever read for letters, scores or text: an option that a model weighed
and rejected while thinking is no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, TextIO, cast

# What is no value, and is left out.
NO_VALUE = object()
_SURROGATE = re.compile("[\ud800-\udfff]")
# Control characters but for tab and line feed, with ESC, which begins the codes of terminals; ends
# of lines and paragraphs; and what embeds, overrides and isolates directions of writing.
_ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

State = Literal["complete", "truncated_reasoning", "empty"]

# Names of thought that every reply is searched for; any other name counts before the answer only.
_THOUGHT = r"think|thinking|thought|reason|reasoning|seed:think|antThinking"
_ATTRIBUTES = r"""(?:
    \s{1,4}[\w:-]{1,40}\s?=\s?(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[^\s<>"'/]{1,200})
){0,8}"""
# Angle brackets as they are, escaped, in full width and as triangles; square ones for [THINK] only,
# since "[reasoning]" in square brackets is a heading of ordinary text. In bars with words of their
# own they are begin and end. Every repetition is bounded, so that no reply takes long to read.
_TAG = re.compile(
    rf"""
    (?:<|&lt;|\uFF1C|\u25C1)
    \s?(?P<angle_end>[/\uFF0F]?)\s?
    (?:{_THOUGHT})
    {_ATTRIBUTES}
    \s?(?P<angle_both>/?)
    (?:>|&gt;|\uFF1E|\u25B7)
    |
    \[\s?(?P<square_end>/?)\s?THINK\s?\]
    |
    <\|\s?(?:begin|(?P<bar_end>end))_of_thought\s?\|>
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A tag with which a reply begins, and what is none of thought: an answer's, a call's, markup, and
# the first marks of templates, which hold nothing.
_FIRST_TAG = re.compile(
    rf"""\s*(?:
    <(?P<angle>[^\W\d][\w:.-]{{0,40}}){_ATTRIBUTES}\s?>
    |
    <\|(?:(?:begin|start)_(?:of_)?)?(?P<bar>\w{{1,40}}?)(?:_(?:begin|start))?\|>
    )""",
    re.IGNORECASE | re.VERBOSE,
)
ANSWER_NAMES = (
    r"(?:final_?)?(?:answers?|box(?:ed)?|solution|response|result|output)|final|(?:最终)?答案"
)
_IS_ANSWER = re.compile(ANSWER_NAMES, re.IGNORECASE)
_IS_NO_BLOCK = re.compile(
    r".*(?:tool|function).*|channel|h[1-6]|html|body|head|div|span|p|b|i|u|em|strong|br|hr|code|pre"
    r"|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|td|th|a|sub|sup|blockquote|font|small|mark|center",
    re.IGNORECASE,
)
_FIRST_MARK = re.compile(
    r"\s*(?:<\|im_start\|>\s?assistant\b|<\|(?:assistant|begin_of_text|startoftext)\|>|<(?:s|bos|unk)>)",
    re.IGNORECASE,
)
# Where a reply is one answer's tag as a whole, the answer is what stands in it.
_ONE_ANSWER = re.compile(
    rf"""\s*(?:
    <(?P<name>{ANSWER_NAMES})>(?P<angle>(?:(?!<(?P=name)>).)*?)(?:</(?P=name)>|\Z)
    | <\|begin_of_(?P<mark>{ANSWER_NAMES})\|>(?P<bar>.*?)(?:<\|end_of_(?P=mark)\|>|\Z)
    )\s*""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
# What ends an answer: a mark of a template, with bars unless it is one of a few, and a speaker.
_END = re.compile(
    rf"""
    <[|\uFF5C](?!(?:begin|end)_of_(?:thought|{ANSWER_NAMES})\b)[^<>|\uFF5C\n]{{1,40}}[|\uFF5C]>
    | </s> | <eos> | <(?:start|end)_of_turn> | \[/?INST\]
    | \n[ \t]*(?:human|user|用户|人类)[ \t]?[:\uFF1A]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MID_SENTENCE = re.compile(r"[^\W_][,，]?[ \t]\Z")
_QUOTES = "`'\"\u201c\u201d\u2018\u2019\u300c\u300d"
_LINE = 200
# The raw form of harmony, in which each part of a reply names its channel before its text.
_CHANNEL = re.compile(
    r"(?:<\|start\|>[^<]{0,200})?<\|channel\|>(?P<name>[^<]{0,200})"
    r"(?:<\|constrain\|>[^<]{0,200})?(?:<\|message\|>|\Z)",
    re.IGNORECASE,
)
_END_OF_PART = re.compile(r"<\|(?:end|return|call|start|channel)\|>", re.IGNORECASE)


@dataclass(frozen=True)
class SplitReply:
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


def split_thinking(text: str) -> SplitReply:
    """Take the thinking out of a reply, and what it goes on with behind its end.

    A tag before the answer holds thought, whatever it is called, unless its name is an answer's:
    one that is never closed means that the model was cut off, and then there is no answer. Closed
    blocks of thought are removed wherever they stand. After a closing tag without an opening one
    (the prompt's template had opened it) only what follows the last such tag counts. A tag that a
    sentence or a bracket quotes is text. Of a reply in channels only the final one is read.
    """
    thought, final = _channels(text)
    if final is None:
        return SplitReply("", _joined(thought), "truncated_reasoning")
    blocks, rest = _first_blocks(final)
    thought += blocks
    if rest is None:
        return SplitReply("", _joined(thought), "truncated_reasoning")
    reply = _without_blocks(rest)
    return replace(reply, thinking=_joined([*thought, reply.thinking])) if thought else reply


def _first_blocks(text: str) -> tuple[list[str], str | None]:
    """Take the blocks off with which a reply begins, whatever they are called.

    Returns:
        What they hold, and the rest; None if the last of them is never closed.
    """
    blocks: list[str] = []
    while True:
        if mark := _FIRST_MARK.match(text):
            text = text[mark.end() :]
        tag = _FIRST_TAG.match(text)
        name = (tag["angle"] or tag["bar"]) if tag else ""
        if tag is None or _IS_ANSWER.fullmatch(name) or _IS_NO_BLOCK.fullmatch(name):
            return blocks, text
        if _TAG.match(tag[0].lstrip()):
            return blocks, text  # of those that are searched for everywhere
        ends = (
            rf"</\s?{re.escape(name)}\s?>"
            if tag["angle"]
            else rf"<\|(?:/|end_(?:of_)?){re.escape(name)}\|>|<\|{re.escape(name)}_end\|>"
        )
        end = re.compile(ends, re.IGNORECASE).search(text, tag.end())
        if end is None:
            return [*blocks, text], None
        if not text[end.end() :].strip():
            return blocks, text  # it is before no answer: it is all that was said
        blocks.append(text[tag.end() : end.start()])
        text = text[end.end() :]


def _without_blocks(text: str) -> SplitReply:
    answer: list[str] = []
    thinking: list[str] = []
    is_thinking = False
    read = 0
    tags = list(_TAG.finditer(text))
    last_end = max((tag.start() for tag in tags if _is_end(tag)), default=0)
    for tag in tags:
        is_last_end = is_thinking and _is_end(tag) and tag.start() == last_end
        if not is_last_end and _is_quoted(text, tag, in_sentence=not is_thinking):
            continue
        (thinking if is_thinking else answer).append(text[read : tag.start()])
        read = tag.end()
        if tag["angle_both"]:
            continue
        if _is_end(tag) and not is_thinking:
            thinking += answer
            answer.clear()
        # An opening tag inside a block is something the model thinks about.
        is_thinking = not _is_end(tag)
    rest = text[read:]
    if is_thinking:
        return SplitReply("", _joined([*answer, *thinking, rest]), "truncated_reasoning")
    left = "".join([*answer, rest])
    # What it goes on with behind its end is left out.
    ends = (end for end in _END.finditer(left) if not _is_quoted(left, end, in_sentence=True))
    end = next(ends, None)
    left = (left if end is None else left[: end.start()]).strip()
    if whole := _ONE_ANSWER.fullmatch(left):
        left = (whole["angle"] or whole["bar"] or "").strip()
    return SplitReply(left, _joined(thinking), "complete" if left else "empty")


def _is_quoted(text: str, tag: re.Match[str], *, in_sentence: bool) -> bool:
    """Tell whether a tag is spoken of: in quotes, in a bracket, or between words of a sentence."""
    before = text[max(0, tag.start() - _LINE) : tag.start()].rsplit("\n", 1)[-1]
    after = text[tag.end() : tag.end() + 2]
    if before[-1:] and before[-1:] in _QUOTES and after[:1] and after[:1] in _QUOTES:
        return True
    if not in_sentence or tag[0].startswith("\n"):
        return False
    is_in_bracket = max(map(before.rfind, "(（")) > max(map(before.rfind, ")）"))
    is_between_words = after[:1] == " " and after[1:].isalpha() and _MID_SENTENCE.search(before)
    return is_in_bracket or bool(is_between_words)


def after_thinking(text: str) -> str:
    """Return what a reply says once it has thought: all that follows its last closing tag.

    Unlike `split_thinking` it keeps what stands before a block that is never closed: for readers
    of a form that is either there as a whole or is not.
    """
    text = _channels(text)[1] or ""
    start = 0
    opened: int | None = None
    for tag in _TAG.finditer(text):
        if tag["angle_both"] or _is_quoted(text, tag, in_sentence=opened is None):
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


def whole(text: str) -> str:
    r"""Return a text with U+FFFD for each half of a surrogate pair; two halves become one.

    A model that is cut off in the midst of an emoji writes one half of it as an escape of JSON
    ("\ud83d"), which no file and no request in UTF-8 can hold. JSON allows that (RFC 8259, section
    8.2), Unicode's encoding forms do not.
    """
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_json(value: Any, deepest: int = 10_000) -> Any:
    """Return a value as JSON has them with all its texts, names of fields among them, whole.

    What the reader found to be no value is left out; a list is all of it or none.

    Args:
        value: of strings, numbers, lists, tuples and dictionaries.
        deepest: how many levels it may have.

    Raises:
        RecursionError: it is nested too deep.
    """
    if isinstance(value, str):
        return whole(value)
    if deepest == 0:
        raise RecursionError
    if isinstance(value, list | tuple):
        parts = type(value)(whole_json(each, deepest - 1) for each in value)
        return NO_VALUE if any(each is NO_VALUE for each in parts) else parts
    if isinstance(value, dict):
        members = {whole_json(key): whole_json(each, deepest - 1) for key, each in value.items()}
        return {key: each for key, each in members.items() if each is not NO_VALUE}
    return value


def visible(text: str) -> str:
    r"""Return a text with each character that acts written out, ESC as ``\x1b``."""
    return _ACTS.sub(lambda found: ascii(found[0])[1:-1], text)


def visible_stream(stream: TextIO) -> TextIO:
    """Return a stream that writes visible text; rich, whose codes are its own, writes by it."""
    return cast("TextIO", _Visible(stream))


class _Visible:
    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)
