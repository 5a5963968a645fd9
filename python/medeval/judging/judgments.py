"""One judge's judgment of one answer, read from the journal of its calls, and what it is worth.

`reward` divides by all dimensions, so that a score which is missing earns nothing; `reward_judged`
divides by those that were judged. Both are given, so that neither hides the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from statistics import fmean, median
from typing import Any, NamedTuple

from medeval.inference.journal import Line
from medeval.inference.types import Outcome
from medeval.judging.prompt import Subject
from medeval.judging.rubric import Rubric
from medeval.judging.verdict import Parse, Status, Verdict, read_verdict
from medeval.text import split_thinking, whole

Scores = Mapping[str, float | None]
NOT_ASKED = "not_asked"
# What HELM gives an answer that no judge of its jury could grade.
HELM_DEFAULT = 1.0
# Ends of a reply after which the judge would have said more.
_CUT = frozenset({Outcome.REFUSED, Outcome.TRUNCATED, Outcome.TRUNCATED_REASONING})
# What a judge wrote, which may repeat the patient's notes.
_TEXTS = ("explanations", "unusable", "reply", "thinking")


class Rewards(NamedTuple):
    """What one answer earned.

    Attributes:
        reward: the share of all that could be earned, 0 to 1; 0 if nothing was judged.
        reward_judged: the share of what was judged; None if nothing was.
    """

    reward: float = 0.0
    reward_judged: float | None = None


def rewards_of(scores: Scores, rubric: Rubric) -> Rewards:
    """Return the rewards of one verdict."""
    given = [score for score in scores.values() if score is not None]
    if not given:
        return Rewards()
    # Divided once: 4, 3 and 5 give 0.8 and not the float below it.
    earned = sum(given)
    return Rewards(earned / (rubric.high * len(rubric.names)), earned / (rubric.high * len(given)))


def combined(rewards: Sequence[Rewards | Judgment]) -> Rewards:
    """Return the mean over those with a verdict, judges or judgments; the others are left out."""
    judged = [each for each in rewards if each.reward_judged is not None]
    if not judged:
        return Rewards()
    return Rewards(fmean(e.reward for e in judged), mean_of([e.reward_judged for e in judged]))


def pooled(rewards: Sequence[Rewards]) -> dict[str, float | None]:
    """Return what was judged as one number, by each way to pool a jury.

    A judge without a verdict is left out, and what a judge left out is missing in its part, as in
    `reward_judged`, and not 0. The trimmed mean leaves out the highest and the lowest judge, from
    three on. None if no judge gave a verdict.
    """
    usable = sorted(each.reward_judged for each in rewards if each.reward_judged is not None)
    return {
        "mean": mean_of(usable),
        "median": median(usable) if usable else None,
        "trimmed_mean": mean_of(usable[1:-1] or usable),
    }


def helm_jury_score(verdicts: Sequence[tuple[Status, Scores]]) -> float:
    """Return the score of HELM's jury, for comparison with its leaderboard.

    As there: the mean of all whole-number scores of the judges whose verdict is complete, and 1.0
    if there is none (Stanford CRFM, MedHELM).
    """
    complete = (scores.values() for status, scores in verdicts if status == "ok")
    given = [int(score) for scores in complete for score in scores if score is not None]
    return fmean(given) if given else HELM_DEFAULT


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that there are; None if there is none."""
    given = [value for value in values if value is not None]
    return fmean(given) if given else None


def money(cost: Decimal | None) -> str | None:
    """Return an amount as reports have it; None where it is not known."""
    return None if cost is None else str(cost)


@dataclass(frozen=True)
class Judgment:
    """One judge's verdict on one answer; where there is none, the reason.

    Attributes:
        id: of what was judged.
        sample: likewise.
        judge: the judge's name.
        repeat: which of several judgments by this judge.
        status: how much of a verdict there is.
        reason: why the verdict is not complete; None if it is.
        parse: how the verdict was found; None if there was no reply.
        is_marked: it stood behind the marker that the prompt asks for.
        scores: of every dimension; empty if there was no reply.
        reward: what the answer earned by it; see `Rewards`.
        reward_judged: likewise.
        asks: how often the judge was asked, re-asks of unusable replies included.
        attempts: calls, retries included.
        seconds: of all of them, waiting included.
        model: as the endpoint named it.
        finish_reason: why the reply ended.
        error: the kind of the last failure; None if there was none.
        input_tokens: of all replies; None if one was not counted.
        output_tokens: likewise.
        cost: of all of them; None if a part of it is unknown.
        explanations: of the dimensions that have one.
        unusable: what stood in the place of a score that is none.
        reply: the text that the verdict was read from.
        thinking: what the judge thought, in the reply or in a field of its own.
    """

    id: str
    sample: int
    judge: str
    repeat: int
    status: Status = "failed"
    reason: str | None = NOT_ASKED
    parse: Parse | None = None
    is_marked: bool = False
    scores: Scores = field(default_factory=dict)
    reward: float = 0.0
    reward_judged: float | None = None
    asks: int = 0
    attempts: int = 0
    seconds: float = 0.0
    model: str = ""
    finish_reason: str = ""
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    explanations: Mapping[str, str] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    reply: str = ""
    thinking: str = ""

    def as_json(self, has_text: bool = False) -> dict[str, Any]:
        """Return the row; with what the judge wrote only if asked."""
        names = (one.name for one in fields(self) if has_text or one.name not in _TEXTS)
        return {name: getattr(self, name) for name in names} | {"cost": money(self.cost)}


def verdict_of(line: Line, marker: str, rubric: Rubric) -> Verdict | None:
    """Return what one reply says; None if there was no reply.

    Args:
        line: of the journal.
        marker: that the prompt asked for.
        rubric: whose dimensions count.
    """
    if "text" not in line:
        return None
    return read_verdict(line["text"], rubric, marker, is_cut=line["outcome"] in _CUT)


def judgment_of(
    subject: Subject, judge: str, repeat: int, asks: Sequence[tuple[Line, str]], rubric: Rubric
) -> Judgment:
    """Return the judgment that comes of one judge's asks: its most complete verdict, the first.

    Args:
        subject: what was judged.
        judge: the judge's name.
        repeat: which of its judgments.
        asks: lines and markers as `verdict_of` takes them, in order; empty if it was not asked.
        rubric: whose dimensions count.
    """
    about = (subject.id, subject.sample, judge, repeat)
    if not asks:
        return Judgment(*about)
    lines = [line for line, _ in asks]
    read = [(verdict_of(line, marker, rubric), line) for line, marker in asks]
    verdict, line = max(read, key=lambda each: -1 if each[0] is None else each[0].given)
    said: dict[str, Any] = {}
    if verdict is not None:
        rewards = rewards_of(verdict.scores, rubric)._asdict()
        said = {**vars(verdict), "status": verdict.status, **rewards}
    costs = [each["cost"] for each in lines]
    usages = [each.get("usage") or {} for each in lines if "text" in each]
    for name in ("input_tokens", "output_tokens"):
        counts = [usage.get(name) for usage in usages]
        said[name] = sum(counts) if counts and None not in counts else None
    thinking = (line.get("reasoning", ""), split_thinking(line.get("text", "")).thinking)
    return Judgment(
        *about,
        **said,
        reason=_reason(verdict, line),
        asks=len(asks),
        attempts=sum(each["measured"]["attempts"] for each in lines),
        seconds=round(sum(each["measured"].get("seconds") or 0.0 for each in lines), 3),
        model=whole(line.get("model", "")),
        finish_reason=line.get("finish_reason", ""),
        error=(lines[-1].get("error") or {}).get("kind"),
        cost=None if None in costs else sum(map(Decimal, costs), Decimal(0)),
        reply=whole(line.get("text", "")),
        thinking=whole("\n".join(filter(None, thinking))),
    )


def _reason(verdict: Verdict | None, line: Line) -> str | None:
    """Say why a verdict is not complete; None if it is."""
    outcome = Outcome(line["outcome"])
    if verdict is None:
        return "refused" if outcome is Outcome.REFUSED else f"error: {line['error']['kind']}"
    if verdict.status == "ok":
        return None
    if outcome in _CUT:
        return str(outcome)
    if verdict.parse not in ("parsed", "repaired"):
        return verdict.parse
    missing = (name for name, score in verdict.scores.items() if score is None)
    return f"no usable score: {', '.join(missing)}"
