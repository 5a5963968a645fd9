"""Intervals of scores that are made of others: items are drawn again, all metrics at once.

Items are drawn within their tasks, and the tasks are fixed: an interval of a mean over tasks speaks
of other items of the same tasks, not of other tasks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from medeval.models.evaluation_result import EvaluationResult
from medeval.models.scores import LEVEL, Interval
from medeval.scoring.resample import Floats, draw_bins
from medeval.scoring.table import distinct_rows, percentiles

METHOD = "bootstrap_percentile_within_tasks"

# Draws made at a time, so that memory does not grow with their number.
_DRAWS_AT_ONCE = 50

# A score that is made of others: these with their weights.
Parts = Mapping[str, float]


class TaskScores:
    """The scores of one task and their means over resamples of its items.

    Metrics of the whole task (macro F1) have no item scores: they have the interval of their
    result, and what is made of them and others has none.
    """

    def __init__(
        self, result: EvaluationResult, made_of: Mapping[str, Parts], draws: int, seed: int
    ) -> None:
        """Draw the items of a result; the order in which they stand does not matter.

        Args:
            result: the only one of its task.
            made_of: each score that is a weighted mean of others, after those that it is made of.
            draws: how often.
            seed: of the generator.
        """
        self._intervals: dict[str, Interval] = dict(result.intervals or {})
        self._means = _resampled_means(result, draws, seed) if draws else {}
        self._sizes = {
            name: sum(score is not None for score in scores)
            for name, scores in (result.item_scores or {}).items()
        }
        for name, weights in made_of.items():
            parts = {part: weight for part, weight in weights.items() if weight}
            # What is made of one score is that score.
            if len(parts) == 1 and (known := self._intervals.get(next(iter(parts)))):
                self._intervals[name] = known
            total = sum(parts.values())
            if total > 0 and parts.keys() <= self._means.keys():
                weighted = [self._means[part] * (weight / total) for part, weight in parts.items()]
                self._means[name] = sum(weighted[1:], start=weighted[0])
                self._sizes[name] = max(self._sizes[part] for part in parts)


def mean_interval(tasks: Sequence[TaskScores], name: str) -> Interval | None:
    """Return the interval of the unweighted mean over tasks of one score, or of one task's.

    Returns:
        None if a task has no resamples of it or a single item, or if no resample differs.
    """
    if len(tasks) == 1 and (known := tasks[0]._intervals.get(name)):
        return known
    if not all(name in task._means and task._sizes[name] > 1 for task in tasks):
        return None
    low, high, _ = percentiles(np.mean([task._means[name] for task in tasks], axis=0))
    if low == high:
        return None  # items that all score alike tell nothing of how others would
    size = sum(task._sizes[name] for task in tasks)
    return Interval(low=low, high=high, level=LEVEL, method=METHOD, n=size)


def made_of_others(
    scores: Container[str],
    categories: Mapping[str, Sequence[str]],
    combined: Mapping[str, Any] | None,
) -> dict[str, Parts]:
    """Return what the rolled-up scores of a task are made of.

    Args:
        scores: the names of all its scores.
        categories: category to the metrics that went into it.
        combined: `name` and `weights` of the combined score; None for none.
    """
    made: dict[str, Parts] = {
        category: dict.fromkeys(metrics, 1.0) for category, metrics in categories.items()
    }
    if combined and (name := combined.get("name")) in scores:
        weights = combined.get("weights", {}).items()
        made[str(name)] = {part: weight for part, weight in weights if part in scores}
    return made


def _resampled_means(result: EvaluationResult, draws: int, seed: int) -> dict[str, Floats]:
    """Return one mean a resample for each metric, NaN where no drawn item has a score."""
    names = sorted(result.item_scores or {})
    if not names:
        return {}
    scores = np.array([(result.item_scores or {})[name] for name in names], dtype=np.float64).T
    scores, sizes = distinct_rows(scores)
    # Each task has draws of its own, whatever other tasks there are.
    own = int.from_bytes(hashlib.sha256(result.task_id.encode()).digest()[:8])
    draw = draw_bins([seed, own], sizes)
    defined = np.isfinite(scores)
    filled, is_there = np.where(defined, scores, 0.0), defined.astype(np.int64)
    parts = []
    for start in range(0, draws, _DRAWS_AT_ONCE):
        size = min(_DRAWS_AT_ONCE, draws - start)
        drawn = draw(size)
        sums, counts = drawn @ filled, drawn @ is_there
        undefined = np.full(sums.shape, np.nan)
        parts.append(np.divide(sums, counts, out=undefined, where=counts > 0))
    means = np.concatenate(parts)
    return {name: means[:, column] for column, name in enumerate(names)}
