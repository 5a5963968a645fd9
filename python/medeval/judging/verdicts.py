"""A judge's reply read as a verdict: tolerant of form, strict about what counts as a score.

Nothing is guessed: a score outside the scale, a fraction or a word is no score, and what cannot be
read is missing, never a low score.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from medeval.inference.thinking import after_thinking
from medeval.judging.decoding import (
    candidates,
    complete_members,
    folded,
    pieces,
    without_trailing_commas,
)
from medeval.judging.rubric import Rubric

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,8})(?:\.\d{1,9})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST_RAW = 100
_BEGINS_WITH_OBJECT = re.compile(r"(?:`{3,}\w{0,9}\s{0,9})?\{")


class Parse(StrEnum):
    """How a verdict was found in a reply.

    Attributes:
        PARSED: as JSON.
        REPAIRED: after stray commas were taken out, or from the complete part of a broken object.
        UNPARSEABLE: not found.
        EMPTY: there was nothing to read.
    """

    PARSED = "parsed"
    REPAIRED = "repaired"
    UNPARSEABLE = "unparseable"
    EMPTY = "empty"


class Status(StrEnum):
    """How much of a verdict there is.

    Attributes:
        OK: a score for every dimension.
        PARTIAL: a score for some.
        FAILED: none.
    """

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True)
class Verdict:
    """What a reply says.

    Attributes:
        parse: how it was found.
        scores: of every dimension of the rubric; None where there is no usable one.
        unusable: what stood in the place of a score that is none, as text.
        explanations: of the dimensions that have one.
        is_marked: it stood behind the marker that the prompt asks for.
    """

    parse: Parse
    scores: Mapping[str, float | None]
    unusable: Mapping[str, str]
    explanations: Mapping[str, str]
    is_marked: bool = False

    @property
    def status(self) -> Status:
        """How much of it there is."""
        given = sum(score is not None for score in self.scores.values())
        if not given:
            return Status.FAILED
        return Status.OK if given == len(self.scores) else Status.PARTIAL

    @property
    def missing(self) -> tuple[str, ...]:
        """The dimensions without a score."""
        return tuple(name for name, score in self.scores.items() if score is None)


def read_verdict(text: str | None, rubric: Rubric, marker: str = "") -> Verdict:
    """Read a reply.

    Args:
        text: the reply; None if there is none.
        rubric: whose dimensions and scale count.
        marker: if the reply holds it, the verdict is the last complete object behind it, and what
            stands before it is none. If it comes again, the last piece behind one of them that
            holds a verdict counts: some judges close with it too.
    """
    left = after_thinking(text or "").strip()
    if not left:
        return _verdict({}, Parse.EMPTY, rubric, False)
    is_marked, tried = _to_read(left, marker)
    for piece in tried:
        for parse, form in (
            (Parse.PARSED, piece),
            (Parse.REPAIRED, without_trailing_commas(piece)),
        ):
            found = candidates(form, rubric.names)
            if found:
                # The judge's own verdict comes after anything that it quotes or drafts.
                complete = [each for each in found if set(rubric.names) <= set(each)]
                return _verdict((complete or found)[-1], parse, rubric, is_marked)
    for piece in tried:
        members = complete_members(without_trailing_commas(piece), rubric.names, is_marked)
        if members:
            return _verdict(members, Parse.REPAIRED, rubric, is_marked)
    return _verdict({}, Parse.UNPARSEABLE, rubric, is_marked)


def _to_read(reply: str, marker: str) -> tuple[bool, list[str]]:
    """Return whether a reply is marked, and where its verdict may stand, the likeliest first."""
    before, *behind = pieces(reply, marker) if marker and marker in reply else [reply]
    is_closing = not any(re.search(r"\w", piece) for piece in behind)
    # Only a reply that begins with its verdict needs no marker in front: after other words it may
    # be a quotation, with the judge's own verdict cut off behind the marker.
    if not behind or (is_closing and _BEGINS_WITH_OBJECT.match(before)):
        return False, [before]
    return True, behind[::-1]


def _verdict(found: Mapping[str, Any], parse: Parse, rubric: Rubric, is_marked: bool) -> Verdict:
    scores: dict[str, float | None] = {}
    unusable: dict[str, str] = {}
    explanations: dict[str, str] = {}
    for name in rubric.names:
        member = found.get(name)
        if isinstance(member, Mapping):
            inside = folded(member)
            explanation = inside.get("explanation")
            if isinstance(explanation, str):
                explanations[name] = explanation
            member = inside.get("score")
        scores[name] = _score(member, rubric)
        if scores[name] is None and member is not None:
            unusable[name] = json.dumps(member)[:_LONGEST_RAW]
    return Verdict(parse, scores, unusable, explanations, is_marked)


def _score(value: Any, rubric: Rubric) -> float | None:
    """Return a score on the scale; None for whatever is none."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or not rubric.low <= value <= rubric.high:
        return None
    return float(value)
