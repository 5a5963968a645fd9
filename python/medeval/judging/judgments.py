"""One judge's judgment of one answer, read from the journal of its calls, and what it is worth.

`reward` divides by all dimensions, so that a score which is missing earns nothing; `reward_judged`
divides by those that were judged. Both are given, so that neither hides the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from statistics import fmean, median
from typing import Any

from medeval.inference.journal import Line
from medeval.inference.types import Outcome
from medeval.judging.prompt import Subject
from medeval.judging.rubric import Rubric
from medeval.judging.verdict import Status, Verdict, read_verdict
from medeval.text import split_thinking, whole

Scores = Mapping[str, float | None]
# What one judge says of one answer: a row of the results. See `judgment_of`.
Judgment = dict[str, Any]
Rewards = Mapping[str, Any]
NO_REWARDS: Rewards = {"reward": 0.0, "reward_judged": None}
NOT_ASKED = "not_asked"
# What HELM gives an answer that no judge of its jury could grade.
HELM_DEFAULT = 1.0
# Ends of a reply after which the judge would have said more.
_CUT = frozenset({Outcome.REFUSED, Outcome.TRUNCATED, Outcome.TRUNCATED_REASONING})
_TEXTS = ("explanations", "unusable", "reply", "thinking")


def rewards_of(scores: Scores, rubric: Rubric) -> Rewards:
    """Return what one verdict earns.

    Returns:
        `reward`, the share of all that could be earned, 0 to 1, 0 if nothing was judged; and
        `reward_judged`, the share of what was judged, None if nothing was.
    """
    given = [score for score in scores.values() if score is not None]
    if not given:
        return NO_REWARDS
    # Divided once: 4, 3 and 5 give 0.8 and not the float below it.
    of_all, of_judged = rubric.high * len(rubric.names), rubric.high * len(given)
    return {"reward": sum(given) / of_all, "reward_judged": sum(given) / of_judged}


def combined(rewards: Iterable[Rewards]) -> Rewards:
    """Return the mean over those with a verdict, judges or judgments; the others are left out."""
    judged = [each for each in rewards if each["reward_judged"] is not None]
    means = {name: mean_of([each[name] for each in judged]) for name in NO_REWARDS}
    return means if judged else NO_REWARDS


def pooled(rewards: Iterable[Rewards]) -> dict[str, float | None]:
    """Return what was judged as one number, by each way to pool a jury.

    A judge without a verdict is left out, and what a judge left out is missing in its part, as in
    `reward_judged`, and not 0. The trimmed mean leaves out the highest and the lowest judge, from
    three on. None if no judge gave a verdict.
    """
    judged = (each["reward_judged"] for each in rewards)
    usable = sorted(reward for reward in judged if reward is not None)
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
    subject: Subject,
    judge: str,
    repeat: int,
    asks: Sequence[tuple[Verdict | None, Line]],
    rubric: Rubric,
) -> Judgment:
    """Return the judgment that comes of one judge's asks: its most complete verdict, the first.

    Args:
        subject: what was judged.
        judge: the judge's name.
        repeat: which of its judgments.
        asks: what `verdict_of` read of each line, in order; empty if it was not asked.
        rubric: whose dimensions count.

    Returns:
        What was judged by whom; the `status` of its verdict, how it was found and the `reason` why
        it is not complete; the `scores` (empty without a reply) and rewards; calls, seconds, tokens
        and cost of all asks, None as soon as a part of them is unknown; the texts are those of the
        reply that the verdict was read from.
    """
    lines = [line for _, line in asks]
    none: tuple[Verdict | None, Line] = (None, {})
    verdict, line = max(asks, key=lambda each: each[0].given if each[0] else -1, default=none)
    usages = [each.get("usage") or {} for each in lines if "text" in each]
    costs = [each["cost"] for each in lines]
    thinking = (line.get("reasoning", ""), split_thinking(line.get("text", "")).thinking)
    return {
        "id": subject.id,
        "sample": subject.sample,
        "judge": judge,
        "repeat": repeat,
        "status": verdict.status if verdict else "failed",
        "reason": _reason(verdict, line) if asks else NOT_ASKED,
        "parse": verdict and verdict.parse,
        "is_marked": verdict is not None and verdict.is_marked,
        "scores": verdict.scores if verdict else {},
        **rewards_of(verdict.scores if verdict else {}, rubric),
        "asks": len(asks),
        "attempts": sum(each["measured"]["attempts"] for each in lines),
        "seconds": round(sum(each["measured"].get("seconds") or 0.0 for each in lines), 3),
        "model": whole(line.get("model", "")),
        "finish_reason": line.get("finish_reason", ""),
        "error": (lines[-1].get("error") or {}).get("kind") if lines else None,
        "input_tokens": total(usage.get("input_tokens") for usage in usages),
        "output_tokens": total(usage.get("output_tokens") for usage in usages),
        "cost": None if None in costs or not asks else str(sum(map(Decimal, costs), Decimal(0))),
        "explanations": verdict.explanations if verdict else {},
        "unusable": verdict.unusable if verdict else {},
        "reply": whole(line.get("text", "")),
        "thinking": whole("\n".join(filter(None, thinking))),
    }


def without_texts(judgment: Judgment) -> Judgment:
    """Return a judgment without what the judge wrote, which may repeat the patient's notes."""
    return {name: value for name, value in judgment.items() if name not in _TEXTS}


def total(amounts: Iterable[Any]) -> Any:
    """Return a sum of tokens or money; None without any, or as soon as a part of it is unknown."""
    listed = list(amounts)
    return None if None in listed or not listed else sum(filter(None, listed))


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
