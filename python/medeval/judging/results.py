"""The results of a judging: each answer, each judge, and what must not be overlooked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean
from typing import Any

from medeval.judging.injection import injection_signs
from medeval.judging.judge_report import JudgeReport
from medeval.judging.judgments import Judgment
from medeval.judging.options import JudgingOptions
from medeval.judging.prompt import JudgePrompt
from medeval.judging.rewards import (
    Rewards,
    combined,
    helm_jury_score,
    median_reward,
    status_of,
    trimmed_mean_reward,
)
from medeval.judging.subjects import Subject
from medeval.judging.verdicts import OF_VERDICTS, Status


@dataclass(frozen=True)
class SubjectResult:
    """What one answer earned.

    Attributes:
        subject: what was judged.
        judgments: of every judge and repeat, those that failed included.
        rewards: the mean over the judges that gave a verdict.
        reward_median: the median of `reward_judged` over the same judges; None if there is none.
        reward_trimmed_mean: likewise the mean without the highest and the lowest judge.
        status: ok if at least one judge gave a complete verdict; not_judged if none was asked,
            since there was nothing to judge.
        reason: why it was not judged; empty if it was.
        scores: of each dimension, the mean over judges; None where no judge gave one.
        helm_jury_score: as HELM would pool the same verdicts.
        injection_signs: why the answer may speak to its judge; usually none.
    """

    subject: Subject
    judgments: tuple[Judgment, ...]
    rewards: Rewards
    reward_median: float | None
    reward_trimmed_mean: float | None
    status: Status
    reason: str
    scores: Mapping[str, float | None]
    helm_jury_score: float
    injection_signs: tuple[str, ...]

    @property
    def reward(self) -> float:
        """The share of all that could be earned, 0 to 1."""
        return self.rewards.reward

    @property
    def reward_judged(self) -> float | None:
        """The share of what was judged; None if nothing was."""
        return self.rewards.reward_judged

    @property
    def judges_used(self) -> int:
        """How many judges gave a verdict."""
        return len({each.judge for each in self.judgments if each.status is not Status.FAILED})

    @property
    def possible_injection(self) -> bool:
        """Tell whether the answer may speak to its judge."""
        return bool(self.injection_signs)

    def as_json(self, has_text: bool = False) -> dict[str, Any]:
        """Return the row; with what the judges wrote only if asked."""
        return {
            "id": self.subject.id,
            "sample": self.subject.sample,
            "reward": self.reward,
            "reward_judged": self.reward_judged,
            "reward_median": self.reward_median,
            "reward_trimmed_mean": self.reward_trimmed_mean,
            "judge_status": str(self.status),
            "reason": self.reason or None,
            "scores": dict(self.scores),
            "helm_jury_score": self.helm_jury_score,
            "judges_used": self.judges_used,
            "possible_injection": self.possible_injection,
            "injection_signs": list(self.injection_signs),
            "judgments": [each.as_json(has_text) for each in self.judgments],
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

    def summary(self) -> dict[str, Any]:
        """Return means with intervals, counts of every status, and the cost of judging alone.

        The counts are of answers, where the best of a jury's judges counts, and under `judges` of
        each judge's own judgments. Those that no judge was shown are counted by their reasons under
        `not_judged` and nowhere else.
        """
        statuses = Counter(each.status for each in self.subjects)
        costs = [judge.cost for judge in self.judges]
        known = [cost for cost in costs if cost is not None]
        names = self.prompt.rubric.names
        return {
            "subjects": len(self.subjects),
            **{str(status): statuses[status] for status in OF_VERDICTS},
            "not_judged": dict(
                sorted(Counter(e.reason for e in self.subjects if e.reason).items())
            ),
            "possible_injections": sum(each.possible_injection for each in self.subjects),
            "reward": self._mean([e.reward for e in self.subjects], is_share=True),
            "reward_judged": self._mean([e.reward_judged for e in self.subjects], is_share=True),
            "helm_jury_score": self._mean([e.helm_jury_score for e in self.subjects]),
            "scores": {
                name: self._mean([e.scores.get(name) for e in self.subjects]) for name in names
            },
            "seed": self.seed,
            "judges": {judge.judge: judge.counts() for judge in self.judges},
            "judging_cost": str(sum(known, Decimal(0))) if len(known) == len(costs) else None,
            "judging_cost_of_priced": str(
                sum((judge.progress.cost for judge in self.judges), Decimal(0))
            ),
        }

    def _mean(self, scores: Sequence[float | None], *, is_share: bool = False) -> dict[str, Any]:
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


def results_of(
    subjects: Sequence[Subject],
    judges: Sequence[JudgeReport],
    prompt: JudgePrompt,
    warnings: Sequence[str],
    options: JudgingOptions,
) -> JudgingResults:
    """Join the judges' judgments to the answers."""
    found: dict[tuple[str, int], list[Judgment]] = defaultdict(list)
    for judge in judges:
        for judgment in judge.judgments:
            found[judgment.subject, judgment.sample].append(judgment)
    results = tuple(
        _result(subject, found[subject.id, subject.sample], prompt) for subject in subjects
    )
    told = [*warnings, *(warning for judge in judges for warning in judge.warnings())]
    return JudgingResults(results, tuple(judges), prompt, tuple(told), options.seed)


def _result(subject: Subject, judgments: Sequence[Judgment], prompt: JudgePrompt) -> SubjectResult:
    signs = injection_signs(subject.answer, prompt.rubric)
    if subject.blank_reason:
        # The answer itself earns nothing; no judge failed on it.
        nothing = Rewards(0.0, 0.0)
        none = dict.fromkeys(prompt.rubric.names)
        return SubjectResult(
            subject,
            (),
            nothing,
            0.0,
            0.0,
            Status.NOT_JUDGED,
            subject.blank_reason,
            none,
            1.0,
            signs,
        )
    judges = list(dict.fromkeys(each.judge for each in judgments))
    by_judge = [[each for each in judgments if each.judge == judge] for judge in judges]
    rewards = [combined([each.rewards for each in own]) for own in by_judge]
    scores = {
        name: _mean([_mean([each.scores.get(name) for each in own]) for own in by_judge])
        for name in prompt.rubric.names
    }
    return SubjectResult(
        subject,
        tuple(judgments),
        combined(rewards),
        median_reward(rewards),
        trimmed_mean_reward(rewards),
        status_of([each.status for each in judgments]),
        "",
        scores,
        helm_jury_score([(each.status, each.scores) for each in judgments]),
        signs,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return fmean(given) if given else None
