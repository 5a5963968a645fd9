"""Two results of a task, item by item: both right, only one of them, neither."""

from __future__ import annotations

from collections import Counter
from typing import Any

from medeval.errors import UserError
from medeval.models.benchmark_report import EvaluationResult
from medeval.reporting.report import items_of, may_show_text
from medeval.scoring.compare import shared_items

RIGHT = ("only A", "only B", "neither", "both right")
# Where scores are no 0 or 1, the higher one is told.
HIGHER = ("A higher", "B higher", "equal")
NO_SCORE = "no score of both"
MOST_ITEMS = 2000


def side_by_side(
    first: EvaluationResult, second: EvaluationResult, metric: str | None, *, show_text: bool
) -> dict[str, Any]:
    """Return the items that both results have, those first on which they differ.

    Args:
        first: of run A.
        second: of run B.
        metric: by whose scores of items; None takes the headline, or what there is instead.
        show_text: with inputs and outputs that are not open.

    Returns:
        The metric and all that could be taken, how many items each group has, at most `MOST_ITEMS`
        items with both scores and outputs (none where text may not be shown), and how many more.

    Raises:
        UserError: results of two tasks, without item scores in common, or without the metric.
    """
    if first.task_id != second.task_id:
        raise UserError(f"A is a run of {first.task_id}, and B of {second.task_id}.")
    metrics = [name for name in first.item_scores or {} if name in (second.item_scores or {})]
    headline = first.metadata.get("headline")
    chosen = metric or (headline if headline in metrics else next(iter(metrics), None))
    if chosen not in metrics:
        known = ", ".join(metrics) or "none, as their scores are not made item by item"
        raise UserError(f"No scores of single items for {chosen or headline}: there are {known}.")
    may_show = show_text or (may_show_text(first) and may_show_text(second))
    items = [list(items_of(result)) for result in (first, second)]
    values = [(result.item_scores or {})[chosen] for result in (first, second)]
    pairs = [
        (items[0][at], items[1][other], (values[0][at], values[1][other]))
        for at, other in shared_items(first, second)
    ]
    known_scores = {score for *_, scores in pairs for score in scores if score is not None}
    groups = RIGHT if known_scores <= {0, 1} else HIGHER
    rows = []
    for one, other, scores in pairs:
        told = {"shown": one["shown"], "first": one["output"], "second": other["output"]}
        rows.append({**told, "id": one["id"], "scores": scores, "group": _group(groups, *scores)})
    order = {name: place for place, name in enumerate((*groups, NO_SCORE))}
    rows.sort(key=lambda row: order[str(row["group"])])
    counts = Counter(row["group"] for row in rows)
    return {
        "metric": chosen,
        "metrics": metrics,
        "counts": {name: counts[name] for name in order if counts[name] or name != NO_SCORE},
        "rows": rows[:MOST_ITEMS] if may_show else [],
        "n_hidden": max(0, len(rows) - MOST_ITEMS) if may_show else 0,
        "is_withheld": not may_show,
    }


def _group(groups: tuple[str, ...], first: float | None, second: float | None) -> str:
    if first is None or second is None:
        return NO_SCORE
    if first != second:
        return groups[0] if first > second else groups[1]
    return groups[2] if groups is HIGHER or first < 1 else groups[3]
