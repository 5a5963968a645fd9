"""A judge's reply read as a verdict: tolerant of form, strict about what counts as a score.

Nothing is guessed: a score outside the scale, a fraction or a word is no score, what cannot be read
is missing, never a low score, and of two verdicts without the marker neither is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Literal

from medeval import json_reader
from medeval.files import toml_beside
from medeval.json_reader import Found, fitting, objects_in
from medeval.judging.rubric import Rubric
from medeval.text import after_thinking

# The strings of a verdict are JSON's own. In the benchmark's judge cases a verdict in single quotes
# is none, and one with quotes inside a string has only its complete parts.
VERDICT = json_reader.Allowances(python=False, inner_quotes=False)
_AFTER_VALUE = re.compile(r"\s{0,100}[,}\]]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,8})(?:\.\d{1,9})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST_RAW = 100
# No judge needs more for its verdict.
LONGEST = 1_000_000
# A word; the name behind a fence is none.
_SAID = re.compile(r"(?<![\w`])\w")
_WORD = re.compile(r"\w")
# How scores stand outside of a verdict, and how judges decline.
_MARKS = toml_beside(__file__, "verdict.toml")
_FLAGS = re.IGNORECASE | re.VERBOSE
_DECLINES = re.compile(_MARKS["declines"], _FLAGS)

# How a verdict was found in a reply: as JSON; with allowances, or from the complete part of a
# broken object; there may be another than the one that is found, and nothing tells which counts;
# not found; there was nothing to read.
Parse = Literal["parsed", "repaired", "ambiguous", "unparseable", "empty"]
# How much of a verdict there is: a score for every dimension, for some, or none. An answer that no
# judge was shown is not judged; a judge's own verdict never is.
Status = Literal["ok", "partial", "failed", "not_judged"]
# Those that a judge's verdict may have, the best first.
OF_VERDICTS: tuple[Status, ...] = ("ok", "partial", "failed")


@dataclass(frozen=True)
class Verdict:
    """What a reply says.

    Attributes:
        parse: how it was found; None where there was no reply.
        scores: of every dimension of the rubric; None where there is no usable one.
        unusable: what stood in the place of a score that is none, as text.
        explanations: of the dimensions that have one.
        is_marked: it stood behind the marker that the prompt asks for.
    """

    parse: Parse | None
    scores: Mapping[str, float | None]
    unusable: Mapping[str, str]
    explanations: Mapping[str, str]
    is_marked: bool = False

    @property
    def given(self) -> int:
        """How many of its scores there are."""
        return sum(score is not None for score in self.scores.values())

    @property
    def status(self) -> Status:
        """How much of it there is."""
        if not self.given:
            return "failed"
        return "ok" if self.given == len(self.scores) else "partial"


# A reply is read when it comes, when it may have to be asked for again, and for the report.
@lru_cache(maxsize=256)
def read_verdict(
    text: str | None, rubric: Rubric, marker: str = "", *, is_cut: bool = False
) -> Verdict:
    """Read a reply.

    Args:
        text: the reply; None if there is none.
        rubric: whose dimensions and scale count.
        marker: if the reply holds it, the verdict is the object directly behind the last one that
            has one, and what stands before it is none. Without it all objects must agree, or
            complete each other, and no criterion may stand beside them with a number: what a judge
            quotes from an answer is not told from its own verdict by its place.
        is_cut: the reply ended before the judge did.
    """
    if len(text or "") > LONGEST:
        return _verdict({}, "unparseable", rubric, False)
    if not (reply := after_thinking(text or "").strip()):
        return _verdict({}, "empty", rubric, False)
    is_marked, tried = _to_read(reply, rubric, marker)
    for find, piece in product((candidates, complete_members), tried):
        found, is_whole = find(piece, rubric.names), find is candidates
        if not found:
            continue
        if is_marked and not _SAID.search(piece, 0, found[0].read.start):
            # Where a part of a broken one comes again, another begins.
            names = [next(iter(each.members)) for each in found]
            again = (n for n, name in enumerate(names) if name in names[:n])
            found = found[: 1 if is_whole else next(again, None)]
        elif _is_doubtful(piece, found, rubric, is_whole=is_whole, is_cut=is_cut) or (
            # It says behind what it may have quoted that it gives no verdict.
            is_whole
            and not is_marked
            and _SAID.search(piece, 0, found[0].read.start)
            and _DECLINES.search(piece, found[-1].read.end)
        ):
            found = []
        return _one_of(found, rubric, is_marked)
    return _verdict({}, "unparseable", rubric, is_marked)


def _to_read(reply: str, rubric: Rubric, marker: str) -> tuple[bool, list[str]]:
    """Return whether a reply is marked, and where its verdict may stand, the likeliest first."""
    before, *behind = _pieces(reply, marker, rubric.names) if marker else [reply]
    if behind and not any(map(_WORD.search, behind)):
        # A reply that begins with its verdict may close with the marker; after other words it may
        # be a quotation, with the judge's own verdict cut off behind the marker.
        found = candidates(before, rubric.names) or complete_members(before, rubric.names)
        if found and not _SAID.search(before, 0, found[0].read.start):
            return False, [before]
    return bool(behind), behind[::-1] or [before]


def _one_of(found: Sequence[Found], rubric: Rubric, is_marked: bool) -> Verdict:
    """Return the one verdict that objects are which agree or complete each other without overlap.

    It is ambiguous if there is none, if they differ, or if a key stands twice in one of them.
    """
    parse: Parse = "parsed" if all(each.read.is_strict for each in found) else "repaired"
    claims: set[frozenset[tuple[str, object]]] = set()
    members: dict[str, Any] = {}
    taken: set[str] = set()
    for each in found:
        read = _verdict(each.members, parse, rubric, is_marked)
        scores = {name: score for name, score in read.scores.items() if score is not None}
        claim = frozenset({**read.unusable, **scores}.items())
        given = {name for name, _ in claim}
        if not each.is_clear or (claim not in claims and given & taken):
            return _verdict({}, "ambiguous", rubric, is_marked)
        if claim not in claims:
            members = {**each.members, **{name: members[name] for name in taken}}
        claims.add(claim)
        taken |= given
    return _verdict(members, parse if found else "ambiguous", rubric, is_marked)


def _is_doubtful(
    text: str, found: Sequence[Found], rubric: Rubric, *, is_whole: bool, is_cut: bool
) -> bool:
    """Tell whether there may be another verdict beside the objects of a text.

    There may where a criterion stands outside of them with a number or, if they are whole, as a
    key; and where the reply is cut off and says more than they do.
    """
    starts = [*(each.read.start for each in found), len(text)]
    ends = [0, *(each.read.end for each in found)]
    outside = " ".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    if is_cut and _SAID.search(outside if is_whole else text[: found[0].read.start]):
        return True
    key = _MARKS["key"].replace("<<names>>", "|".join(rubric.names))
    keys = re.findall(key, outside, _FLAGS)
    if keys and is_whole:
        return True
    # What belongs to a part that is cut off is not beside it.
    names = set(rubric.names) - {key.lower() for key in keys}
    named = "|".join(sorted(name.replace("_", r"[\W_]") for name in names))
    beside = _MARKS["beside"].replace("<<names>>", named)
    return bool(named) and re.search(beside, outside, _FLAGS) is not None


def _verdict(found: Mapping[str, Any], parse: Parse, rubric: Rubric, is_marked: bool) -> Verdict:
    scores: dict[str, float | None] = dict.fromkeys(rubric.names)
    unusable, explanations = {}, {}
    for name in rubric.names:
        member = found.get(name)
        if isinstance(member, Mapping):
            inside = json_reader.folded(member)
            if isinstance(explanation := inside.get("explanation"), str):
                explanations[name] = explanation
            member = inside.get("score")
        value: Any = number_in(member.strip()) if isinstance(member, str) else member
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # Neither NaN nor a number too large for a float lies in the range.
        if is_number and rubric.low <= value <= rubric.high:
            scores[name] = float(value)
        elif member is not None:
            unusable[name] = json.dumps(member)[:_LONGEST_RAW]
    return Verdict(parse, scores, unusable, explanations, is_marked)


def number_in(text: str) -> float | None:
    """Return the number that a text is, in the digits and the form of JSON; None if it is none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def candidates(text: str, names: Sequence[str]) -> list[Found]:
    """Return the objects that could be a verdict or wrap one, in their order.

    Args:
        text: of the reply.
        names: of the dimensions.
    """
    tried = (fitting(read, set(names).intersection, VERDICT) for read in objects_in(text, VERDICT))
    return [found for found in tried if found is not None]


def complete_members(text: str, names: Sequence[str]) -> list[Found]:
    """Return the dimensions of broken or cut-off verdicts that are complete in themselves.

    Args:
        text: of the reply.
        names: of the dimensions.
    """
    either = "|".join(map(re.escape, names))
    key = re.compile(rf'"\s{{0,9}}({either})\s{{0,9}}"\s{{0,9}}:\s{{0,99}}', re.IGNORECASE)
    values, found = json_reader.Values(text, VERDICT), []
    for match in key.finditer(_masked(text, objects_in(text, VERDICT))):
        try:
            read = values.at(match.end())
        except json_reader.NotJsonError as error:
            if error.resume is None and error.place < len(text):
                break  # nested too deeply, or broken too often
            continue
        # A number at the very end may have lost digits.
        if isinstance(read.value, Mapping) or _AFTER_VALUE.match(text, read.end):
            part = read._replace(start=match.start(), is_strict=False)
            found.append(Found({match[1].lower(): read.value}, part, read.is_clear))
    return found


def _pieces(text: str, marker: str, names: Sequence[str]) -> list[str]:
    """Return what stands before, between and behind the markers of a text, in whatever case.

    A marker inside an object, or inside a complete part of a broken one, divides nothing.
    """
    if marker.lower() not in text.lower():
        return [text]
    parts = [part.read for part in complete_members(text, names)]
    masked = _masked(text, [*objects_in(text, VERDICT), *parts])
    marks = re.finditer(re.escape(marker), masked, re.IGNORECASE)
    cuts = [0, *(place for mark in marks for place in mark.span()), len(text)]
    return [text[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)]


def _masked(text: str, reads: Iterable[json_reader.Read]) -> str:
    """Return a text of the same length in which what stands in some values cannot be read."""
    kept, last = [], 0
    for start, end in sorted((read.start, read.end) for read in reads):
        kept += [text[last:start], "\0" * (end - max(start, last))]
        last = max(last, end)
    return "".join([*kept, text[last:]])
