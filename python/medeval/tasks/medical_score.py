"""Scores of a task file's items, over one sample of each or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.medical_task import task_hash
from medeval.models.schemas import Row
from medeval.models.task_types import EvaluatedTask
from medeval.scoring.table import (
    Column,
    Pooled,
    Ratio,
    ScoreTable,
    result_fields,
    told_counts,
)
from medeval.tasks.judged_score import judged_table, judging_facts
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
) -> TaskScore:
    """Score the outputs of each sample, and put them together.

    An item without an output has an empty one: it stays among the items. With several samples an
    item's score is the mean over its samples, and items are drawn, never samples.

    Args:
        task: with the items that were asked.
        headline: the metric that counts.
        model: as the user named it.
        outputs: by sample, aligned with the items.
        method: of the intervals.
        facts: of the run.
    """
    if method.groupings or method.cluster:
        raise UserError("The items of a task file have no groups: leave --by and --cluster away.")
    by_sample = [task.table(one).columns for one in outputs]
    table = ScoreTable(
        {name: _over_samples([sample[name] for sample in by_sample]) for name in by_sample[0]}
    )
    scored = table.summary(draws=method.n_iters, seed=method.seed)
    may_show = task.data_class == "open"
    inputs, _ = task.pairs()
    result = EvaluationResult(
        model_id=model,
        task_id=task.task_id,
        inputs=[
            {"id": str(index), **(row if may_show else {})} for index, row in enumerate(inputs)
        ],
        model_outputs=list(outputs[0]) if may_show else [{} for _ in inputs],
        **result_fields(table, scored),
        metadata={
            **facts,
            "data": {
                "sha256": task_hash(task),
                "data_class": task.data_class,
                "items": len(inputs),
            },
            "task_hash": task_hash(task),
            "headline": headline,
            "samples": len(outputs),
            "by_sample": {name: [sample[name].value() for sample in by_sample] for name in scored},
            "n_iters": method.n_iters,
            "seed": method.seed,
            **told_counts(scored),
        },
    )
    return TaskScore(result, headline)


def with_judging(
    scored: TaskScore, results: JudgingResults, plan: Jury, method: Method
) -> TaskScore:
    """Put a judge's rewards beside the metrics; the headline stays the task's own.

    With several samples an item's reward is the mean over its samples.
    """
    found = scored.result
    table = judged_table(results, plan)
    made = table.summary(draws=method.n_iters, seed=method.seed)
    told = {name: {**found.metadata[name], **counts} for name, counts in told_counts(made).items()}
    fields = {
        name: {**(getattr(found, name) or {}), **values}
        for name, values in result_fields(table, made).items()
    }
    metadata = {**found.metadata, "judging": judging_facts(results, plan), **told}
    result = found.model_copy(update={**fields, "metadata": metadata})
    return replace(scored, result=result, warnings=[*scored.warnings, *results.warnings])


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
