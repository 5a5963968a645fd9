"""A judging as scores: the mean reward of what was judged, with what is missing beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.scoring.table import Ratio, ScoreTable, interval
from medeval.tasks.task import Method

if TYPE_CHECKING:
    from medeval.judging.jury import Jury, Pooling
    from medeval.judging.results import JudgingResults, SubjectResult

HEADLINE = "reward_judged"
MISSING = "no usable judgment"
NO_GROUP = "none"

Score = Callable[["SubjectResult"], float | None]


def pooled_reward(result: SubjectResult, pooling: Pooling) -> float | None:
    """Return what an answer earned from its jury; None if nobody gave a verdict."""
    return result.pooled[pooling]


def judged_table(results: JudgingResults, plan: Jury) -> ScoreTable:
    """Return the headline first, then the published reward, HELM's score and the dimensions.

    A judgment that failed is missing in all of them but `reward`, the published formula, which
    takes it as 0, and HELM's score, which takes it as 1 of 5. With several samples of an item its
    score is the mean over them; items are drawn, in the order in which they came.
    """
    scores: dict[str, Score] = {
        HEADLINE: lambda row: pooled_reward(row, plan.pooling),
        "reward": lambda row: row.reward,
        "helm_jury_score": lambda row: row.helm_jury_score,
        **{f"judge_{name}": _dimension(name) for name in results.prompt.rubric.names},
    }
    return ScoreTable(
        {name: _column(_by_item(results, score), name) for name, score in scores.items()}
    )


def item_ids(results: JudgingResults) -> list[str]:
    """Return the items in the order of their scores."""
    return list(dict.fromkeys(row.subject.id for row in results.subjects))


def by_group(
    groupings: Mapping[str, Mapping[str, str | None]],
    results: JudgingResults,
    plan: Jury,
    method: Method,
) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the headline with its interval for each group.

    Args:
        groupings: by name, the group of each item by its id.
        results: of the judging.
        plan: says how a jury's rewards become one.
        method: of the intervals.

    Raises:
        UserError: a grouping that there is not.
    """
    for name in method.groupings:
        if name not in groupings:
            raise UserError(f"--by {name}: there are {', '.join(groupings)}.")
    rewards = dict(
        zip(
            item_ids(results),
            _by_item(results, lambda row: pooled_reward(row, plan.pooling)),
            strict=True,
        )
    )
    return {
        name: {
            group: _group(
                [reward for item, reward in rewards.items() if (own[item] or NO_GROUP) == group],
                method,
            )
            for group in sorted({own[item] or NO_GROUP for item in rewards})
        }
        for name, own in groupings.items()
    }


def _by_item(results: JudgingResults, score: Score) -> list[float | None]:
    items: dict[str, list[float]] = {item: [] for item in item_ids(results)}
    for row in results.subjects:
        value = score(row)
        if value is not None:
            items[row.subject.id].append(value)
    return [fmean(values) if values else None for values in items.values()]


def _dimension(name: str) -> Score:
    return lambda row: row.scores.get(name)


def judging_facts(results: JudgingResults, plan: Jury) -> dict[str, Any]:
    """Return what a report says of a judging.

    Who judged and how, what failed, what it cost by itself, and what must not be overlooked, such
    as a judge that stopped before its end.
    """
    summary = results.summary()
    return {
        "prompt_version": results.prompt.version,
        **results.prompt.record(),
        "pooling": plan.pooling,
        "repeats": plan.repeats,
        "ok": summary["ok"],
        "partial": summary["partial"],
        "failed": summary["failed"],
        "not_judged": summary["not_judged"],
        "possible_injections": summary["possible_injections"],
        "cost": summary["judging_cost"],
        "cost_of_priced": summary["judging_cost_of_priced"],
        "judges": [judge.as_json() for judge in results.judges],
        "warnings": list(results.warnings),
    }


def _column(scores: Sequence[float | None], name: str) -> Ratio:
    # Rewards lie between 0 and 1, other scores on the rubric's scale.
    return Ratio(scores, is_share=name in (HEADLINE, "reward"), reason=MISSING)


def _group(rewards: Sequence[float | None], method: Method) -> dict[str, float | None]:
    found = interval(_column(rewards, HEADLINE), draws=method.n_iters, seed=method.seed)
    return {
        "n": float(len(rewards)),
        "n_missing": float(found.n_undefined),
        HEADLINE: found.value,
        "low": found.low,
        "high": found.high,
    }
