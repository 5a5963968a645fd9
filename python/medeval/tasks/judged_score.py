"""A judging as scores: the mean reward of what was judged, with what is missing beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.judging.judgments import mean_of
from medeval.scoring.table import Ratio, ScoreTable, interval
from medeval.tasks.task import Method

if TYPE_CHECKING:
    from medeval.judging.jury import Jury
    from medeval.judging.results import JudgingResults

HEADLINE = "reward_judged"
MISSING = "no usable judgment"
NO_GROUP = "none"
_COUNTS = ("ok", "partial", "failed", "not_judged", "possible_injections")


def judged_table(results: JudgingResults, plan: Jury) -> ScoreTable:
    """Return the headline first, then the published reward, HELM's score and the dimensions.

    A judgment that failed is missing in all of them but `reward`, the published formula, which
    takes it as 0, and HELM's score, which takes it as 1 of 5. With several samples of an item its
    score is the mean over them; items are drawn, in the order in which they came.
    """
    rows = results.subjects

    def column(scores: Iterable[float | None], *, is_share: bool = False) -> Ratio:
        items: dict[str, list[float | None]] = {}
        for row, score in zip(rows, scores, strict=True):
            items.setdefault(row.subject.id, []).append(score)
        return Ratio(list(map(mean_of, items.values())), is_share=is_share, reason=MISSING)

    return ScoreTable(
        {
            HEADLINE: column((row.pooled[plan.pooling] for row in rows), is_share=True),
            "reward": column((row.reward for row in rows), is_share=True),
            # On the rubric's scale, as the dimensions are.
            "helm_jury_score": column(row.helm_jury_score for row in rows),
            **{
                f"judge_{name}": column(row.scores.get(name) for row in rows)
                for name in results.prompt.rubric.names
            },
        }
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
    items = item_ids(results)
    rewards = judged_table(results, plan).columns[HEADLINE].item_scores
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    if unknown := [name for name in method.groupings if name not in groupings]:
        raise UserError(f"--by {unknown[0]}: there are {', '.join(groupings)}.")
    for name, own in groupings.items():
        groups = {item: own[item] or NO_GROUP for item in items}
        found[name] = {}
        for group in sorted(set(groups.values())):
            of_group = [
                score for item, score in zip(items, rewards, strict=True) if groups[item] == group
            ]
            column = Ratio(of_group, is_share=True, reason=MISSING)
            estimate = interval(column, draws=method.n_iters, seed=method.seed)
            found[name][group] = {
                "n": float(len(of_group)),
                "n_missing": float(estimate.n_undefined),
                HEADLINE: estimate.value,
                "low": estimate.low,
                "high": estimate.high,
            }
    return found


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
        **{name: summary[name] for name in _COUNTS},
        "cost": summary["judging_cost"],
        "cost_of_priced": summary["judging_cost_of_priced"],
        "judges": [judge.as_json() for judge in results.judges],
        "warnings": list(results.warnings),
    }
