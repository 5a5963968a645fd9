"""What came of a judging: each judgment, each answer, each judge, and what must not be overlooked.

`reward` divides by all dimensions, so that a score which is missing earns nothing; `reward_judged`
divides by those that were judged. Both are given, so that neither hides the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from statistics import fmean, median
from typing import Any

from medeval.inference.cost import Spent, spent_by
from medeval.inference.guard import IN_PROCESS
from medeval.inference.journal import Line, money
from medeval.inference.run import Progress
from medeval.inference.types import Outcome, total
from medeval.judging.jury import LOCAL, Pooling
from medeval.judging.prompt import JudgePrompt, Subject, injection_signs
from medeval.judging.rubric import Rubric
from medeval.judging.verdict import OF_VERDICTS, Status, Verdict, read_verdict
from medeval.metrics.metric import mean_of
from medeval.text import split_thinking, whole

Scores = Mapping[str, float | None]
# What one judge says of one answer: a row of the results. See `judgment_of`.
Judgment = dict[str, Any]
Rewards = Mapping[str, Any]
_NO_REPLY = Verdict(None, {}, {}, {})
NO_REWARDS: Rewards = {"reward": 0.0, "reward_judged": None}
# More judgments than this that are not complete may be an outage read as a bad model.
MOST_NOT_OK = 0.05
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
    means = {name: mean_of(each[name] for each in judged) for name in NO_REWARDS}
    return means if judged else NO_REWARDS


def pooled(rewards: Sequence[Rewards]) -> Rewards:
    """Return what a jury gives: the means of `combined`, and what was judged by the other ways.

    A judge without a verdict is left out, and what a judge left out is missing in its part, as in
    `reward_judged`, and not 0. The trimmed mean leaves out the highest and the lowest judge, from
    three on. None if no judge gave a verdict.
    """
    judged = (each["reward_judged"] for each in rewards)
    usable = sorted(reward for reward in judged if reward is not None)
    middle = median(usable) if usable else None
    trimmed = mean_of(usable[1:-1] or usable)
    return {**combined(rewards), "reward_median": middle, "reward_trimmed_mean": trimmed}


def helm_jury_score(verdicts: Iterable[tuple[Status, Scores]]) -> float:
    """Return the score of HELM's jury, for comparison with its leaderboard.

    As there: the mean of all whole-number scores of the judges whose verdict is complete, and 1.0
    if there is none (Stanford CRFM, MedHELM).
    """
    complete = (scores.values() for status, scores in verdicts if status == "ok")
    given = [int(score) for scores in complete for score in scores if score is not None]
    return fmean(given) if given else 1.0


def counted(reasons: Iterable[str | None]) -> dict[str, int]:
    """Return how often each text stands there, by name; what is empty is not counted."""
    return dict(sorted(Counter(str(each) for each in reasons if each).items()))


def judgment_of(
    subject: Subject, judge: str, repeat: int, asks: Sequence[tuple[str, Line]], rubric: Rubric
) -> Judgment:
    """Return the judgment that comes of one judge's asks: its most complete verdict, the first.

    Args:
        subject: what was judged.
        judge: the judge's name.
        repeat: which of its judgments.
        asks: each line of the journal in order, behind the marker that its prompt asked for; empty
            if it was not asked.
        rubric: whose dimensions count.

    Returns:
        What was judged by whom; the `status` of its verdict, how it was found and the `reason` why
        it is not complete; the `scores` (empty without a reply) and rewards; calls, seconds, tokens
        and cost of all asks, None as soon as a part of them is unknown; the texts are those of the
        reply that the verdict was read from.
    """
    lines = [line for _, line in asks]
    verdict, line = _NO_REPLY, {}
    for marker, each in asks:
        if "text" in each:
            is_cut = each["outcome"] in _CUT
            read = read_verdict(each["text"], rubric, marker, is_cut=is_cut)
            if "text" not in line or read.given > verdict.given:
                verdict, line = read, each
        line = line or each
    usages = [each.get("usage") or {} for each in lines if "text" in each]
    thinking = (line.get("reasoning", ""), split_thinking(line.get("text", "")).thinking)
    return {
        "id": subject.id,
        "sample": subject.sample,
        "judge": judge,
        "repeat": repeat,
        "status": verdict.status,
        "reason": _reason(verdict, line) if asks else "not_asked",
        **vars(verdict),
        **rewards_of(verdict.scores, rubric),
        "asks": len(asks),
        "attempts": sum(each["measured"]["attempts"] for each in lines),
        "seconds": round(sum(each["measured"].get("seconds") or 0.0 for each in lines), 3),
        "model": whole(line.get("model", "")),
        "finish_reason": line.get("finish_reason", ""),
        "error": (lines[-1].get("error") or {}).get("kind") if lines else None,
        "input_tokens": total(usage.get("input_tokens") for usage in usages),
        "output_tokens": total(usage.get("output_tokens") for usage in usages),
        "cost": money(spent_by(lines).known) if asks else None,
        "reply": whole(line.get("text", "")),
        "thinking": whole("\n".join(filter(None, thinking))),
    }


def _reason(verdict: Verdict, line: Line) -> str | None:
    """Say why a verdict is not complete; None if it is."""
    outcome = Outcome(line["outcome"])
    if verdict.status == "ok":
        return None
    if outcome in _CUT:
        return str(outcome)
    if "text" not in line:
        return f"error: {line['error']['kind']}"
    if verdict.parse not in ("parsed", "repaired"):
        return verdict.parse
    missing = (name for name, score in verdict.scores.items() if score is None)
    return f"no usable score: {', '.join(missing)}"


def without_texts(judgment: Judgment) -> Judgment:
    """Return a judgment without what the judge wrote, which may repeat the patient's notes."""
    return {name: value for name, value in judgment.items() if name not in _TEXTS}


@dataclass(frozen=True)
class JudgeReport:
    """What became of one judge.

    Attributes:
        judge: its name.
        model: as the user named it.
        endpoint: where it was asked.
        judgments: of every answer that is not blank.
        progress: the ledger of its calls: outcomes, tokens and money, re-asks included.
        further: the ledger of calls that its journal has beyond these judgments: repeats that are
            not wanted now, or that an audit asked for.
        spent: on all calls of its journal, also those without a line; None if none had a price.
        learned: parameters that its endpoint refused, each with what is sent instead.
        stopped: why it was not asked about all answers; empty if it was.
    """

    judge: str
    model: str
    endpoint: str
    judgments: Sequence[Judgment]
    progress: Progress
    further: Progress
    spent: Spent | None
    learned: Mapping[str, str]
    stopped: str

    @property
    def cost(self) -> Decimal | None:
        """What its calls cost; None as soon as a part of it is unknown. A rule costs nothing."""
        is_rule = (self.endpoint, self.model) == (IN_PROCESS, LOCAL)
        return Decimal(0) if is_rule else self.progress.spent.known

    def warnings(self) -> list[str]:
        """Return what must not be overlooked."""
        counts, found = self.counts(), []
        all_, not_ok = counts["judgments"], counts["judgments"] - counts["ok"]
        if self.stopped:
            found.append(
                f"The judge {self.judge} stopped with {all_ - counts['failed']:,} of {all_:,}"
                f" judged: {self.stopped}"
            )
        if not_ok > MOST_NOT_OK * all_:
            reasons = Counter(counts["reasons"]).most_common(3)
            told = ", ".join(f"{count} {reason}" for reason, count in reasons)
            found.append(
                f"The judge {self.judge} gave no complete verdict on {not_ok} of {all_} answers"
                f" ({told}). They are missing, not low."
            )
        return found

    def counts(self) -> dict[str, Any]:
        """Return how its judgments ended, with the reasons, and why it stopped.

        What a stopped judge was not asked has failed here, though no call of the ledger tells of
        it: a call that stops a judge is no answer's, so that the answer is asked about again.
        """
        return {
            "judgments": len(self.judgments),
            **_statuses(each["status"] for each in self.judgments),
            "reasons": counted(each["reason"] for each in self.judgments),
            "stopped": self.stopped or None,
        }

    def as_json(self) -> dict[str, Any]:
        """Return counts, ledger and cost."""
        further = {"asked": self.further.ledger.asked, "cost": money(self.further.spent.known)}
        return {
            "judge": self.judge,
            "model": self.model,
            "models_reported": sorted({each["model"] for each in self.judgments if each["model"]}),
            "endpoint": self.endpoint,
            **self.counts(),
            "parses": counted(each["parse"] for each in self.judgments),
            "learned": dict(self.learned),
            "cost": money(self.cost),
            "calls": self.progress.as_json(),
            "further_calls": further,
            "all_calls": None if self.spent is None else self.spent.as_json(),
        }


@dataclass(frozen=True)
class SubjectResult:
    """What one answer earned.

    Attributes:
        subject: what was judged.
        reward: the share of all that could be earned, the mean over the judges with a verdict.
        reward_judged: the share of what was judged, the mean over judges; None if nothing was.
        reward_median: the same, the median over judges.
        reward_trimmed_mean: the same, without the highest and the lowest judge.
        judge_status: ok if at least one judge gave a complete verdict; not_judged if none was
            asked, since there was nothing to judge.
        reason: why it was not judged; None if it was.
        scores: of each dimension, the mean over judges; None where no judge gave one.
        helm_jury_score: as HELM would pool the same verdicts.
        judges_used: how many judges gave a verdict.
        injection_signs: why the answer may speak to its judge; usually none.
        judgments: of every judge and repeat, those that failed included.
    """

    subject: Subject
    reward: float
    reward_judged: float | None
    reward_median: float | None
    reward_trimmed_mean: float | None
    judge_status: Status
    reason: str | None
    scores: Scores
    helm_jury_score: float
    judges_used: int
    injection_signs: Sequence[str]
    judgments: Sequence[Judgment]

    def pooled(self, pooling: Pooling) -> float | None:
        """Return the share of what was judged, by a way to make one number of a jury's."""
        name = "judged" if pooling == "mean" else pooling
        share: float | None = getattr(self, f"reward_{name}")
        return share

    def as_json(self, has_text: bool = False) -> dict[str, Any]:
        """Return the row; with what the judges wrote only if asked."""
        row = {"id": self.subject.id, "sample": self.subject.sample, **vars(self)}
        del row["subject"]
        row["possible_injection"] = bool(self.injection_signs)
        judgments = [each if has_text else without_texts(each) for each in self.judgments]
        return {**row, "injection_signs": list(self.injection_signs), "judgments": judgments}


def subject_results(
    subjects: Iterable[Subject], judges: Iterable[JudgeReport], rubric: Rubric
) -> list[SubjectResult]:
    """Return what each answer earned."""
    found: dict[str, list[Judgment]] = defaultdict(list)
    for one in (judgment for judge in judges for judgment in judge.judgments):
        found[f"{one['id']}#{one['sample']}"].append(one)
    results = []
    for subject in subjects:
        judgments = found[subject.name]
        # Those of a judge stand together.
        by_judge = [[*own] for _, own in groupby(judgments, itemgetter("judge"))]
        rewards = [combined(own) for own in by_judge]
        # One complete verdict is enough for a score.
        statuses = (each["status"] for each in judgments)
        status: Status = min(statuses, key=OF_VERDICTS.index, default="failed")
        if subject.blank_reason:
            # The answer itself earns nothing; no judge failed on it.
            status, rewards = "not_judged", [{"reward": 0.0, "reward_judged": 0.0}]
        result = SubjectResult(
            subject,
            **pooled(rewards),
            judge_status=status,
            reason=subject.blank_reason or None,
            scores={
                name: mean_of(mean_of(one["scores"].get(name) for one in own) for own in by_judge)
                for name in rubric.names
            },
            helm_jury_score=helm_jury_score((one["status"], one["scores"]) for one in judgments),
            judges_used=len({one["judge"] for one in judgments if one["status"] != "failed"}),
            injection_signs=injection_signs(subject.answer, rubric),
            judgments=judgments,
        )
        results.append(result)
    return results


@dataclass(frozen=True)
class JudgingResults:
    """All of a judging.

    Attributes:
        subjects: the answers, in their order.
        judges: what became of each judge.
        prompt: with which it was made; its seed is that of the intervals too.
        warnings: what must not be overlooked.
    """

    subjects: Sequence[SubjectResult]
    judges: Sequence[JudgeReport]
    prompt: JudgePrompt
    warnings: Sequence[str]

    @property
    def exit_code(self) -> int:
        """1 if a judge failed on more than one answer in twenty or stopped, else 0."""
        return int(any(judge.warnings() for judge in self.judges))

    @property
    def cost(self) -> Decimal | None:
        """What judging cost; None as soon as a part of it is unknown."""
        cost: Decimal | None = total(judge.cost for judge in self.judges)
        return cost

    def by_item(self) -> dict[str, list[SubjectResult]]:
        """Return the answers to each question, in the order in which they came."""
        found: dict[str, list[SubjectResult]] = {}
        for one in self.subjects:
            found.setdefault(one.subject.id, []).append(one)
        return found

    def summary(self) -> dict[str, Any]:
        """Return means with intervals, counts of every status, and the cost of judging alone.

        The counts are of answers, where the best of a jury's judges counts, and under `judges` of
        each judge's own judgments. Those that no judge was shown are counted by their reasons under
        `not_judged` and nowhere else.
        """
        rows, spent = self.subjects, sum((one.progress.spent for one in self.judges), Spent())
        return {
            "subjects": len(rows),
            **_statuses(each.judge_status for each in rows),
            "not_judged": counted(each.reason for each in rows),
            "possible_injections": sum(bool(each.injection_signs) for each in rows),
            "reward": self.mean([each.reward for each in rows], is_share=True),
            "reward_judged": self.mean([each.reward_judged for each in rows], is_share=True),
            "helm_jury_score": self.mean([each.helm_jury_score for each in rows]),
            "scores": {
                name: self.mean([each.scores.get(name) for each in rows])
                for name in self.prompt.rubric.names
            },
            "seed": self.prompt.seed,
            "judges": {judge.judge: judge.counts() for judge in self.judges},
            "judging_cost": money(self.cost),
            "judging_cost_of_priced": str(spent.cost),
        }

    def mean(self, scores: Sequence[float | None], *, is_share: bool = False) -> dict[str, Any]:
        """Return a mean over answers with its interval; None is left out."""
        from medeval.scoring.table import Ratio, interval  # numpy is slow to load

        column = Ratio(scores, is_share=is_share, reason="there is no value")
        return interval(column, seed=self.prompt.seed).model_dump()

    def as_json(self, has_text: bool = False) -> dict[str, Any]:
        """Return the report; with what the judges wrote only if asked."""
        return {
            "prompt_version": self.prompt.version,
            **self.prompt.record(),
            "summary": self.summary(),
            "warnings": list(self.warnings),
            "exit_code": self.exit_code,
            "judges": [judge.as_json() for judge in self.judges],
            "results": [each.as_json(has_text) for each in self.subjects],
        }


def _statuses(statuses: Iterable[str]) -> dict[str, int]:
    """Return how often each status of a verdict stands there."""
    found = Counter(statuses)
    return {status: found[status] for status in OF_VERDICTS}
