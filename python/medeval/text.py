"""Text that others wrote: whose it is, made fit for UTF-8, shown, and without its thinking.

What is `open` may go anywhere; what is not known to be is credentialed.

Of a reply only the answer is ever read for letters, scores or text: an option that a model weighed
and rejected while thinking is no answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TextIO, cast

from medeval.files import toml_beside

OPEN = "open"
CREDENTIALED = "credentialed"
# What is no value, and is left out.
NO_VALUE = object()
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")  # as an escape of JSON
# Control characters but for tab and line feed, with ESC, which begins the codes of terminals; ends
# of lines and paragraphs; and what embeds, overrides and isolates directions of writing.
_ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

State = Literal["complete", "truncated_reasoning", "empty"]

# What the templates of models write around thinking, channels and answers.
_MARKS = toml_beside(__file__, "reply_marks.toml")
_QUOTES = _MARKS["quotes"]
_LINE = 200
_MID_SENTENCE = re.compile(r"[^\W_][,，]?[ \t]\Z")
ANSWER_NAMES: str = _MARKS["words"]["answers"]


def compiled(
    parts_of: Mapping[str, str | Sequence[str]], words: Mapping[str, str], flags: int = 0
) -> dict[str, re.Pattern[str]]:
    """Return patterns, with what stands in them between double angle brackets put in.

    Args:
        parts_of: by name the parts that each pattern is written in; one may name those before it.
        words: what else may be named.
        flags: of all.
    """
    texts = dict(words)
    for name, parts in parts_of.items():
        texts[name] = re.sub(r"<<(\w+)>>", lambda named: texts[named[1]], "".join(parts))
    return {name: re.compile(texts[name], flags) for name in parts_of}


_FLAGS = re.IGNORECASE | re.VERBOSE | re.DOTALL
_PATTERNS = compiled(_MARKS["patterns"], _MARKS["words"], _FLAGS)
_TAG = _PATTERNS["thought"]


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


def sha256_of(content: str | bytes) -> str:
    """Return the hash of bytes, or of a text in UTF-8, as hexadecimal digits."""
    data = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()


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
        if mark := _PATTERNS["first_mark"].match(text):
            text = text[mark.end() :]
        tag = _PATTERNS["first_tag"].match(text)
        name = (tag["angle"] or tag["bar"]) if tag else ""
        if tag is None or _PATTERNS["no_thought"].fullmatch(name):
            return blocks, text
        if _TAG.match(tag[0].lstrip()):
            return blocks, text  # of those that are searched for everywhere
        ends = (
            rf"</\s?{re.escape(name)}\s?>"
            if tag["angle"]
            else rf"<\|(?:/|end_(?:of_)?){re.escape(name)}\|>|<\|{re.escape(name)}_end\|>"
        )
        if (end := re.compile(ends, re.IGNORECASE).search(text, tag.end())) is None:
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
    ends = _PATTERNS["end"].finditer(left)
    end = next((one for one in ends if not _is_quoted(left, one, in_sentence=True)), None)
    left = (left if end is None else left[: end.start()]).strip()
    if whole := _PATTERNS["one_answer"].fullmatch(left):
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
    if bare := _PATTERNS["bare_channels"].fullmatch(text):
        return [bare["thought"] or bare["cut"] or ""], bare["final"]
    heads = list(_PATTERNS["channel"].finditer(text)) if "<|" in text else []
    if not heads:
        return [], text
    thought = [text[: heads[0].start()]]
    final: list[str] = []
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.end() : None if following is None else following.start()]
        part = _PATTERNS["end_of_part"].split(part, maxsplit=1)[0]
        is_final = head["channel"].strip().lower().startswith("final")
        (final if is_final else thought).append(part)
    thought = [_PATTERNS["end_of_part"].sub("", part) for part in thought]
    return thought, "".join(final) if final else None


def _joined(parts: list[str]) -> str:
    return "\n".join(stripped for part in parts if (stripped := part.strip()))


def strictest(classes: Iterable[object]) -> str:
    """Return `open` if there is a class and each one is; what is missing is credentialed."""
    found = list(classes)
    return OPEN if found and all(one == OPEN for one in found) else CREDENTIALED


def whole(text: str) -> str:
    r"""Return a text with U+FFFD for each half of a surrogate pair; two halves become one.

    A model that is cut off in the midst of an emoji writes one half of it as an escape of JSON
    ("\ud83d"), which no file and no request in UTF-8 can hold. JSON allows that (RFC 8259, section
    8.2), Unicode's encoding forms do not.
    """
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def storable(text: str) -> str:
    """Return JSON that every engine takes: as `whole`, and with U+FFFD for U+0000."""
    return _NUL.sub("\\1\ufffd", whole(text))


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
        # What the caller's encoding does not have is written as escapes.
        stream = self.rich_proxied_file
        known = stream.encoding or "utf-8"
        return stream.write(visible(text).encode(known, "backslashreplace").decode(known))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)
