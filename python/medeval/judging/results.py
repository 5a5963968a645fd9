"""What came of a judging: each answer, each judge, and what must not be overlooked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any

from medeval.inference.cost import Spent
from medeval.inference.guard import IN_PROCESS
from medeval.inference.run import Progress
from medeval.judging.injection import injection_signs
from medeval.judging.judgments import (
    Judgment,
    Scores,
    combined,
    helm_jury_score,
    mean_of,
    money,
    pooled,
    total,
    without_texts,
)
from medeval.judging.jury import LOCAL
from medeval.judging.prompt import JudgePrompt, Subject
from medeval.judging.rubric import Rubric
from medeval.judging.verdict import OF_VERDICTS, Status

# More judgments than this that are not complete may be an outage read as a bad model.
MOST_NOT_OK = 0.05


@dataclass(frozen=True)
class JudgeReport:
    """What became of one judge.

    Attributes:
        judge: its name.
        model: as the user named it.
        endpoint: where it was asked.
        judgments: of every answer that is not blank.
        progress: the ledger of its calls: outcomes, tokens and money, re-asks included.
        learned: parameters that its endpoint refused, each with what is sent instead.
        stopped: why it was not asked about all answers; empty if it was.
        further: the ledger of calls that its journal has beyond these judgments: repeats that are
            not wanted now, or that an audit asked for.
        spent: on all calls of its journal, also those without a line; None if none had a price.
    """

    judge: str
    model: str
    endpoint: str
    judgments: tuple[Judgment, ...]
    progress: Progress
    learned: Mapping[str, str]
    stopped: str
    further: Progress
    spent: Spent | None

    @property
    def cost(self) -> Decimal | None:
        """What its calls cost; None as soon as a part of it is unknown. A rule costs nothing."""
        is_rule = (self.endpoint, self.model) == (IN_PROCESS, LOCAL)
        return Decimal(0) if is_rule else self.progress.known_cost

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
        further = {"asked": self.further.ledger.asked, "cost": money(self.further.known_cost)}
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
        status: ok if at least one judge gave a complete verdict; not_judged if none was asked,
            since there was nothing to judge.
        reason: why it was not judged; empty if it was.
        judgments: of every judge and repeat, those that failed included.
        reward: the share of all that could be earned, the mean over the judges with a verdict.
        pooled: the share of what was judged, by the way to make one number of a jury's; None if
            nothing was.
        scores: of each dimension, the mean over judges; None where no judge gave one.
        helm_jury_score: as HELM would pool the same verdicts.
        injection_signs: why the answer may speak to its judge; usually none.
    """

    subject: Subject
    status: Status
    reason: str
    judgments: tuple[Judgment, ...]
    reward: float
    pooled: Mapping[str, float | None]
    scores: Scores
    helm_jury_score: float
    injection_signs: tuple[str, ...]

    @classmethod
    def of(
        cls, subject: Subject, by_judge: Sequence[Sequence[Judgment]], rubric: Rubric
    ) -> SubjectResult:
        """Join the judgments of each judge on an answer."""
        judgments = tuple(each for own in by_judge for each in own)
        # One complete verdict is enough for a score.
        statuses = (each["status"] for each in judgments)
        status: Status = min(statuses, key=OF_VERDICTS.index, default="failed")
        rewards = [combined(own) for own in by_judge]
        if subject.blank_reason:
            # The answer itself earns nothing; no judge failed on it.
            status, rewards = "not_judged", [{"reward": 0.0, "reward_judged": 0.0}]
        return cls(
            subject,
            status,
            subject.blank_reason,
            judgments,
            combined(rewards)["reward"],
            pooled(rewards),
            {
                name: mean_of(
                    [mean_of([one["scores"].get(name) for one in own]) for own in by_judge]
                )
                for name in rubric.names
            },
            helm_jury_score([(each["status"], each["scores"]) for each in judgments]),
            injection_signs(subject.answer, rubric),
        )

    @property
    def reward_judged(self) -> float | None:
        """The share of what was judged, the mean over judges; None if nothing was."""
        return self.pooled["mean"]

    @property
    def judges_used(self) -> int:
        """How many judges gave a verdict."""
        return len({each["judge"] for each in self.judgments if each["status"] != "failed"})

    def as_json(self, has_text: bool = False) -> dict[str, Any]:
        """Return the row; with what the judges wrote only if asked."""
        return {
            "id": self.subject.id,
            "sample": self.subject.sample,
            "reward": self.reward,
            "reward_judged": self.reward_judged,
            "reward_median": self.pooled["median"],
            "reward_trimmed_mean": self.pooled["trimmed_mean"],
            "judge_status": self.status,
            "reason": self.reason or None,
            "scores": dict(self.scores),
            "helm_jury_score": self.helm_jury_score,
            "judges_used": self.judges_used,
            "possible_injection": bool(self.injection_signs),
            "injection_signs": list(self.injection_signs),
            "judgments": [each if has_text else without_texts(each) for each in self.judgments],
        }


@dataclass(frozen=True)
class JudgingResults:
    """All of a judging.

    Attributes:
        subjects: the answers, in their order.
        judges: what became of each judge.
        prompt: with which it was made.
        warnings: what must not be overlooked.
        seed: of the intervals.
    """

    subjects: tuple[SubjectResult, ...]
    judges: tuple[JudgeReport, ...]
    prompt: JudgePrompt
    warnings: tuple[str, ...]
    seed: int

    @property
    def exit_code(self) -> int:
        """1 if a judge failed on more than one answer in twenty or stopped, else 0."""
        return int(any(judge.warnings() for judge in self.judges))

    @property
    def cost(self) -> Decimal | None:
        """What judging cost; None as soon as a part of it is unknown."""
        cost: Decimal | None = total(judge.cost for judge in self.judges)
        return cost

    def summary(self) -> dict[str, Any]:
        """Return means with intervals, counts of every status, and the cost of judging alone.

        The counts are of answers, where the best of a jury's judges counts, and under `judges` of
        each judge's own judgments. Those that no judge was shown are counted by their reasons under
        `not_judged` and nowhere else.
        """
        rows = self.subjects
        of_priced = sum((judge.progress.cost for judge in self.judges), Decimal(0))
        return {
            "subjects": len(rows),
            **_statuses(each.status for each in rows),
            "not_judged": counted(each.reason for each in rows),
            "possible_injections": sum(bool(each.injection_signs) for each in rows),
            "reward": self.mean([each.reward for each in rows], is_share=True),
            "reward_judged": self.mean([each.reward_judged for each in rows], is_share=True),
            "helm_jury_score": self.mean([each.helm_jury_score for each in rows]),
            "scores": {
                name: self.mean([each.scores.get(name) for each in rows])
                for name in self.prompt.rubric.names
            },
            "seed": self.seed,
            "judges": {judge.judge: judge.counts() for judge in self.judges},
            "judging_cost": money(self.cost),
            "judging_cost_of_priced": str(of_priced),
        }

    def mean(self, scores: Sequence[float | None], *, is_share: bool = False) -> dict[str, Any]:
        """Return a mean over answers with its interval; None is left out."""
        from medeval.scoring.table import mean  # numpy is slow to load

        found = mean(scores, seed=self.seed, is_share=is_share, reason="there is no value")
        return found.model_dump()

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


def judge_feedback(result: SubjectResult) -> list[dict[str, Any]]:
    """Return one entry for each round of judging, as MedARC's MTSamples environment does.

    An entry has `judges`, a row for each of them, and `score`, their mean reward; for a single
    judge also `scores` and `raw_judge`. It holds what the judges wrote.
    """
    feedback = []
    in_rounds = sorted(result.judgments, key=itemgetter("repeat"))
    for _, own in groupby(in_rounds, itemgetter("repeat")):
        judgments = [*own]
        rows = [
            {
                "judge": each["judge"],
                "model": each["model"],
                "raw": each["reply"],
                "error": each["reason"],
                "scores": {
                    name: {"score": score, "explanation": each["explanations"].get(name, "")}
                    for name, score in each["scores"].items()
                },
                "score": each["reward"],
            }
            for each in judgments
        ]
        entry: dict[str, Any] = {"judges": rows, "score": combined(judgments)["reward"]}
        if len(rows) == 1:
            entry |= {"scores": rows[0]["scores"], "raw_judge": rows[0]["raw"]}
        feedback.append(entry)
    return feedback


def _statuses(statuses: Iterable[str]) -> dict[str, int]:
    """Return how often each status of a verdict stands there."""
    found = Counter(statuses)
    return {status: found[status] for status in OF_VERDICTS}


def counted(reasons: Iterable[str | None]) -> dict[str, int]:
    """Return how often each text stands there, by name; what is empty is not counted."""
    return dict(sorted(Counter(str(each) for each in reasons if each).items()))
