"""A judge's reply read as a verdict: tolerant of form, strict about what counts as a score.

Nothing is guessed: a score outside the scale, a fraction or a word is no score, and what cannot be
read is missing, never a low score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from medeval.inference.thinking import after_thinking
from medeval.judging.decoding import (
    Candidate,
    candidates,
    complete_members,
    folded,
    has_unfinished,
    pieces,
    without_trailing_commas,
)
from medeval.judging.rubric import Rubric

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,8})(?:\.\d{1,9})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST_RAW = 100
_BEGINS_WITH_OBJECT = re.compile(r"(?:`{3,}\w{0,9}\s{0,9})?\{")
# What may stand before a verdict that a reply begins with.
_NOTHING_SAID = re.compile(r"\s*(?:`{3,}\w{0,9})?[\s\[]*")
_DECLINES = re.compile(
    r"\b(?:can(?:no|')?t|can\u2019t|can\s+not|could(?:\s+not|n['\u2019]t)|wo(?:n't|n\u2019t)"
    r"|will\s+not|unable\s+to|not\s+able\s+to|declin(?:e|ing)(?:\s+to)?|refus(?:e|ing)(?:\s+to)?)"
    r"\b[^.\n]{0,40}\b(?:grad(?:e|ing)|judg(?:e|ing)|scor(?:e|ing)|rat(?:e|ing)|assess(?:ing)?"
    r"|evaluat(?:e|ing)|comply|help|assist)\b",
    re.IGNORECASE,
)


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
        NOT_JUDGED: of an answer that no judge was shown; never of a judge's own verdict.
    """

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"
    NOT_JUDGED = "not_judged"


# Those that a judge's verdict may have, the best first.
OF_VERDICTS = (Status.OK, Status.PARTIAL, Status.FAILED)


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


def read_verdict(
    text: str | None, rubric: Rubric, marker: str = "", *, is_cut: bool = False
) -> Verdict:
    """Read a reply.

    Args:
        text: the reply; None if there is none.
        rubric: whose dimensions and scale count.
        marker: if the reply holds it, the verdict is the last complete object behind it, and what
            stands before it is none. If it comes again, the last piece behind one of them that
            holds a verdict counts: some judges close with it too. Where it is missing, an object
            after other words may be a quotation: it is not taken for the verdict of a reply that
            ends before the judge has given its own, or declines to.
        is_cut: the reply ended before the judge did.
    """
    return _read(text or "", rubric, marker, is_cut)


# A reply is read when it comes, when it may have to be asked for again, and for the report.
@lru_cache(maxsize=2048)
def _read(text: str, rubric: Rubric, marker: str, is_cut: bool) -> Verdict:
    left = after_thinking(text).strip()
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
                complete = [each for each in found if set(rubric.names) <= set(each.members)]
                chosen = (complete or found)[-1]
                if marker and not is_marked and _may_be_quoted(form, chosen, rubric, is_cut):
                    return _own_part(form[chosen.end :], rubric)
                return _verdict(chosen.members, parse, rubric, is_marked)
    for piece in tried:
        members = complete_members(without_trailing_commas(piece), rubric.names, is_marked)
        if members:
            return _verdict(members, Parse.REPAIRED, rubric, is_marked)
    return _verdict({}, Parse.UNPARSEABLE, rubric, is_marked)


def _to_read(reply: str, marker: str) -> tuple[bool, list[str]]:
    """Return whether a reply is marked, and where its verdict may stand, the likeliest first."""
    before, *behind = pieces(reply, marker) if marker else [reply]
    is_closing = not any(re.search(r"\w", piece) for piece in behind)
    # Only a reply that begins with its verdict needs no marker in front: after other words it may
    # be a quotation, with the judge's own verdict cut off behind the marker.
    if not behind or (is_closing and _BEGINS_WITH_OBJECT.match(before)):
        return False, [before]
    return True, behind[::-1]


def _may_be_quoted(reply: str, chosen: Candidate, rubric: Rubric, is_cut: bool) -> bool:
    """Tell whether the last verdict of a reply without a marker may be another's than the judge's.

    It may after other words, where the reply is cut off, another verdict begins behind it and does
    not end, or the judge says behind it that it gives none.
    """
    if _NOTHING_SAID.fullmatch(reply, 0, chosen.start):
        return False
    behind = reply[chosen.end :]
    return is_cut or has_unfinished(reply, rubric.names, chosen) or bool(_DECLINES.search(behind))


def _own_part(behind: str, rubric: Rubric) -> Verdict:
    """Return what the judge gave of its own verdict behind one that it may have quoted."""
    form = without_trailing_commas(behind)
    found = candidates(form, rubric.names)
    members = found[-1].members if found else complete_members(form, rubric.names, False)
    return _verdict(members, Parse.REPAIRED if members else Parse.UNPARSEABLE, rubric, False)


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
    if isinstance(value, str):
        value = number_in(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Neither NaN nor a number too large for a float lies in the range.
    return float(value) if rubric.low <= value <= rubric.high else None


def number_in(text: str) -> float | None:
    """Return the number that a text is, in the digits and the form of JSON; None if it is none."""
    return float(text) if _NUMBER.fullmatch(text) else None
