"""Scores of a task file's items, over one sample of each or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.models.medical_task import task_hash
from medeval.models.schemas import Row
from medeval.models.task_types import EvaluatedTask
from medeval.scoring.table import (
    Column,
    Pooled,
    Ratio,
    ScoreTable,
)
from medeval.tasks.for_reports import task_score
from medeval.tasks.judged import judged_table, judging_facts
from medeval.tasks.task import Method, TaskScore

if TYPE_CHECKING:
    from medeval.judging.jury import Jury
    from medeval.judging.results import JudgingResults


def score_of(
    task: EvaluatedTask,
    headline: str,
    model: str,
    outputs: Sequence[Sequence[Row]],
    method: Method,
    facts: Mapping[str, Any],
    judging: tuple[JudgingResults, Jury] | None = None,
) -> TaskScore:
    """Score the outputs of each sample, and put them together.

    An item without an output has an empty one: it stays among the items. With several samples an
    item's score is the mean over its samples, and items are drawn, never samples. A judge's rewards
    stand beside the metrics; the headline stays the task's own.

    Args:
        task: with the items that were asked.
        headline: the metric that counts.
        model: as the user named it.
        outputs: by sample, aligned with the items.
        method: of the intervals.
        facts: of the run.
        judging: of the answers, if they were judged.
    """
    if method.groupings or method.cluster:
        raise UserError("The items of a task file have no groups: leave --by and --cluster away.")
    by_sample = [task.table(one).columns for one in outputs]
    columns = {name: _over_samples([sample[name] for sample in by_sample]) for name in by_sample[0]}
    of_samples = {name: [sample[name].value() for sample in by_sample] for name in columns}
    told: dict[str, Any] = {}
    warnings: Sequence[str] = ()
    if judging is not None:
        columns |= judged_table(*judging).columns
        told["judging"], warnings = judging_facts(*judging), judging[0].warnings
    may_show = task.data_class == "open"
    inputs, _ = task.pairs()
    data = {"sha256": task_hash(task), "data_class": task.data_class, "items": len(inputs)}
    told |= {"data": data, "task_hash": data["sha256"], "samples": len(outputs)}
    return task_score(
        task.task_id,
        model,
        headline,
        ScoreTable(columns),
        method,
        [{"id": str(index), **(row if may_show else {})} for index, row in enumerate(inputs)],
        outputs[0] if may_show else [{} for _ in inputs],
        {**facts, **told, "by_sample": of_samples},
        warnings=warnings,
    )


def _over_samples(samples: Sequence[Column]) -> Column:
    """Return a metric over all samples of the items: each item's score is the mean of its own."""
    if len(samples) == 1:
        return samples[0]
    pooled = [sample for sample in samples if isinstance(sample, Pooled)]
    if pooled:
        return _mean_of_pooled(pooled)
    items = [
        _mean([score for score in scores if score is not None])
        for scores in zip(*(sample.item_scores for sample in samples), strict=True)
    ]
    reason = next((sample.reason for sample in samples if sample.reason), None)
    return Ratio(items, is_share=all(sample.is_share for sample in samples), reason=reason)


def _mean_of_pooled(samples: Sequence[Pooled]) -> Pooled:
    """Return the mean over samples of a metric of the whole task; items keep their samples."""

    def pool(counts: Mapping[Any, int]) -> float | None:
        values = []
        for place, sample in enumerate(samples):
            own: Counter[Any] = Counter()
            for records, times in counts.items():
                own.update(dict.fromkeys(records[place], times))
            values.append(sample.pool(own) if own else None)
        return _mean([value for value in values if value is not None])

    # An item that has no record in a sample is none there.
    records = [
        tuple(() if record is None else (record,) for record in of_item)
        for of_item in zip(*(sample.records for sample in samples), strict=True)
    ]
    return Pooled([one if any(one) else None for one in records], pool, samples[0].reason)


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None
