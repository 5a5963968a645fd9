"""Judgments: what each judge said of each answer, read from the journal of its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from medeval.inference.journal import Line
from medeval.inference.types import Outcome
from medeval.judging.rewards import Rewards, rewards_of
from medeval.judging.rubric import Rubric
from medeval.judging.verdicts import Parse, Status, Verdict, read_verdict
from medeval.text import split_thinking, whole

NOT_ASKED = "not_asked"
# Ends of a reply after which the judge would have said more.
_CUT = frozenset({Outcome.REFUSED, Outcome.TRUNCATED, Outcome.TRUNCATED_REASONING})


@dataclass(frozen=True)
class Judgment:
    """One judge's verdict on one answer; where there is none, the reason.

    Attributes:
        subject: the id of what was judged.
        sample: its sample.
        judge: the judge's name.
        repeat: which of several judgments by this judge.
        verdict: what it said; None if it was not asked or there was no reply.
        rewards: what the answer earned by it.
        reason: why the verdict is not complete; empty if it is.
        asks: how often it was asked, re-asks of unusable replies included.
        reply: the text that the verdict was read from.
        thinking: what it thought, in the reply or in a field of its own.
        model: as the endpoint named it.
        finish_reason: why the reply ended.
        error: the kind of the last failure; empty if there was none.
        attempts: calls, retries included.
        seconds: of all of them, waiting included.
        input_tokens: of all replies; None if one was not counted.
        output_tokens: likewise.
        cost: of all of them; None if a part of it is unknown.
    """

    subject: str
    sample: int
    judge: str
    repeat: int
    verdict: Verdict | None
    rewards: Rewards
    reason: str
    asks: int
    reply: str = ""
    thinking: str = ""
    model: str = ""
    finish_reason: str = ""
    error: str = ""
    attempts: int = 0
    seconds: float = 0.0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None

    @property
    def status(self) -> Status:
        """How much of a verdict there is."""
        return Status.FAILED if self.verdict is None else self.verdict.status

    @property
    def scores(self) -> Mapping[str, float | None]:
        """The scores; empty if there is no verdict."""
        return {} if self.verdict is None else self.verdict.scores

    def as_json(self, has_text: bool = False) -> dict[str, Any]:
        """Return the row.

        Args:
            has_text: with what the judge wrote, which may repeat the patient's notes.
        """
        verdict = self.verdict
        row: dict[str, Any] = {
            "id": self.subject,
            "sample": self.sample,
            "judge": self.judge,
            "repeat": self.repeat,
            "status": str(self.status),
            "reason": self.reason or None,
            "parse": None if verdict is None else str(verdict.parse),
            "is_marked": verdict is not None and verdict.is_marked,
            "scores": dict(self.scores),
            "reward": self.rewards.reward,
            "reward_judged": self.rewards.reward_judged,
            "asks": self.asks,
            "attempts": self.attempts,
            "seconds": self.seconds,
            "model": self.model,
            "finish_reason": self.finish_reason,
            "error": self.error or None,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": None if self.cost is None else str(self.cost),
        }
        if has_text:
            row["explanations"] = {} if verdict is None else dict(verdict.explanations)
            row["unusable"] = {} if verdict is None else dict(verdict.unusable)
            row["reply"] = self.reply
            row["thinking"] = self.thinking
        return row


@dataclass(frozen=True)
class Asked:
    """One ask of a judge.

    Attributes:
        line: of the journal.
        marker: that the prompt asked for.
    """

    line: Line
    marker: str


def verdict_of(asked: Asked, rubric: Rubric) -> Verdict | None:
    """Return what one reply says; None if there was no reply."""
    if "text" not in asked.line:
        return None
    is_cut = asked.line["outcome"] in _CUT
    return read_verdict(asked.line["text"], rubric, asked.marker, is_cut=is_cut)


def judgment_of(
    name: tuple[str, int], judge: str, repeat: int, asks: Sequence[Asked], rubric: Rubric
) -> Judgment:
    """Return the judgment that comes of one judge's asks: its most complete verdict.

    Args:
        name: id and sample of the subject.
        judge: the judge's name.
        repeat: which of its judgments.
        asks: in their order; empty if it was not asked.
        rubric: whose dimensions count.
    """
    if not asks:
        return Judgment(*name, judge, repeat, None, Rewards(0.0, None), NOT_ASKED, 0)
    read = [(verdict_of(asked, rubric), asked.line) for asked in asks]
    # Of equally complete ones the first.
    verdict, line = max(read, key=lambda each: _given(each[0]))
    lines = [asked.line for asked in asks]
    costs = [each["cost"] for each in lines]
    thinking = (line.get("reasoning", ""), split_thinking(line.get("text", "")).thinking)
    return Judgment(
        *name,
        judge,
        repeat,
        verdict,
        rewards_of({} if verdict is None else verdict.scores, rubric),
        _reason(verdict, line),
        len(asks),
        reply=whole(line.get("text", "")),
        thinking=whole("\n".join(filter(None, thinking))),
        model=whole(line.get("model", "")),
        finish_reason=line.get("finish_reason", ""),
        error=(lines[-1].get("error") or {}).get("kind", ""),
        attempts=sum(each["measured"]["attempts"] for each in lines),
        seconds=round(sum(each["measured"].get("seconds") or 0.0 for each in lines), 3),
        input_tokens=_tokens(lines, "input_tokens"),
        output_tokens=_tokens(lines, "output_tokens"),
        cost=None if None in costs else sum(map(Decimal, costs), Decimal(0)),
    )


def _given(verdict: Verdict | None) -> int:
    if verdict is None:
        return -1
    return len(verdict.scores) - len(verdict.missing)


def _reason(verdict: Verdict | None, line: Line) -> str:
    """Say why a verdict is not complete; empty if it is."""
    outcome = Outcome(line["outcome"])
    if verdict is None:
        return "refused" if outcome is Outcome.REFUSED else f"error: {line['error']['kind']}"
    if verdict.status is Status.OK:
        return ""
    if outcome in (Outcome.REFUSED, Outcome.TRUNCATED, Outcome.TRUNCATED_REASONING):
        return str(outcome)
    if verdict.parse not in (Parse.PARSED, Parse.REPAIRED):
        return str(verdict.parse)
    return f"no usable score: {', '.join(verdict.missing)}"


def _tokens(lines: Sequence[Line], name: str) -> int | None:
    replied = [line for line in lines if "text" in line]
    counts: list[int | None] = [(line.get("usage") or {}).get(name) for line in replied]
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None
