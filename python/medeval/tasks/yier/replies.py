"""A model's reply to a question: the answer it states, or none. Nothing is ever guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Any

from medeval.errors import UserError
from medeval.json_reader import last_object, list_in
from medeval.tasks.yier.answer_part import (
    SYMBOL,
    read_all,
    read_judged,
    read_part,
    read_signs,
)
from medeval.tasks.yier.cues import (
    parts_after_cues,
    parts_below_cues,
    plain,
    tagged_parts,
    up_to_next_questions,
)
from medeval.tasks.yier.matching import MOST_OPTIONS, Answers, Options, fold
from medeval.text import split_thinking

ANSWER_KEYS = (
    *("predict_answers", "answer_choices", "answers", "answer"),
    *("答案", "正确答案", "正確答案"),
)
# A larger share of replies that cannot be read measures the reader, not the model.
UNPARSED_WARNING = 0.02

_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")


class Extraction(StrEnum):
    """The step by which a reply was read, or why it was not."""

    EMPTY = "empty"
    TRUNCATED_REASONING = "truncated_reasoning"
    JSON = "json"
    BOXED = "boxed"
    CUE = "cue"
    WHOLE = "whole"
    OUT_OF_RANGE = "out_of_range"
    UNPARSED = "unparsed"


@dataclass(frozen=True)
class ReadReply(Answers):
    """What a reply says, and the step that read it or why there is no answer."""

    extraction: Extraction = Extraction.UNPARSED


def read_reply(text: str, selection: Sequence[str]) -> ReadReply:
    """Read a reply.

    Args:
        text: the model's reply as it came.
        selection: the options in the order in which they were shown.
    """
    reply = split_thinking(text)
    if reply.state != "complete":
        return ReadReply(extraction=Extraction(reply.state))
    options = Options(selection)
    # Markdown goes from the options as well, or they would not equal their own text any more.
    bare_options = Options([plain(option) for option in selection])
    for said in up_to_next_questions(reply.answer):
        read = _read(said, options, bare_options)
        if read is not None:
            return read
    # Where all of a reply stands in the tags of an answer, they are gone by now.
    if any(part.strip() == reply.answer for part in tagged_parts(text)):
        return _as_read(Extraction.CUE, _sentence(reply.answer, options)) or ReadReply()
    return ReadReply()


def _read(said: str, options: Options, bare_options: Options) -> ReadReply | None:
    bare = plain(said)
    tagged = tagged_parts(said)
    boxed = reversed(_BOXED.findall(said))
    steps: tuple[tuple[Extraction, Iterable[Answers | None]], ...] = (
        (Extraction.JSON, [_from_json(said, options)]),
        (Extraction.CUE, (_from_json(one, options) or _sentence(one, options) for one in tagged)),
        (Extraction.BOXED, (read_part(plain(one).strip(), bare_options) for one in boxed)),
        (Extraction.CUE, (read_part(part, bare_options) for part in parts_after_cues(bare))),
        (Extraction.WHOLE, [_from_whole(bare, bare_options)]),
        (Extraction.CUE, _from_headings(bare, bare_options)),
    )
    for step, readings in steps:
        for found in readings:
            if found is not None:
                return _as_read(step, found)
    return None


def _as_read(step: Extraction, found: Answers | None) -> ReadReply | None:
    if found is None:
        return None
    # What is unknown and a letter is past the last option.
    is_out = any(re.fullmatch("[A-Z]", text) for text in found.unknown)
    used = Extraction.OUT_OF_RANGE if is_out else step
    return ReadReply(found.options, found.unknown, 0, found.warnings, extraction=used)


def _from_json(text: str, options: Options) -> Answers | None:
    def answer(members: Mapping[str, Any]) -> Answers | None:
        given = [members[key] for key in ANSWER_KEYS if key in members]
        return _answer_list(given[0], options) if given else None

    found = last_object(text, ANSWER_KEYS, answer)
    if found is not None:
        return answer(found.members)
    listed = list_in(text)
    return _answer_list(listed, options) if listed is not None else None


def _answer_list(value: Any, options: Options) -> Answers | None:
    if isinstance(value, str):
        found = read_all(value, options, bare_runs=True) or _sentence(value, options)
        if found is not None:
            return found
    try:
        answers = options.answers(value)
    except UserError:
        return None
    if isinstance(value, list) and answers.unknown:
        said = "\n".join(plain(str(each)) for each in value)
        bare = Options([plain(option) for option in options.texts])
        if read_signs(said, bare) is not None:
            return read_judged(said, bare)
    return answers


def _sentence(text: str, options: Options) -> Answers | None:
    """Read a sentence that stands in the place of an answer: "选A和C，不选B"."""
    bare, bare_options = plain(text).strip(), Options([plain(option) for option in options.texts])
    for part in (*parts_after_cues(bare), bare):
        found = read_part(part, bare_options)
        if found is not None:
            return found
    return None


def _from_headings(text: str, options: Options) -> Iterator[Answers]:
    for part in parts_below_cues(text):
        found = read_all(part, options) or read_judged(part, options)
        if found is not None and len(found.options) < max(2, len(options)):
            yield found


def _from_whole(text: str, options: Options) -> Answers | None:
    found = read_all(text, options)
    if found is not None:
        return found
    lines = [line for line in text.splitlines() if fold(line)][-MOST_OPTIONS:]
    said = _last_lines(lines, lambda line: read_all(line, options) is not None)
    found = read_all("\n".join(said), options) if said else None
    if found is not None and len(said) > 1 and len(found.options) == len(options):
        return None  # all the options after some text: the question repeated, not an answer
    if found is not None:
        return found
    # Without a cue, words beside options may judge what they say; signs choose.
    said = _last_lines(lines, lambda line: read_signs(line, options, SYMBOL) is not None)
    return read_judged("\n".join(said), options, SYMBOL) if said else None


def _last_lines(lines: Sequence[str], fits: Callable[[str], bool]) -> list[str]:
    return list(takewhile(fits, reversed(lines)))[::-1]
