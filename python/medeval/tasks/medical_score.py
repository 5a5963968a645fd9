"""Scores of a task file's items, over one sample of each or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.metrics.aggregate import Aggregate, aggregate_scores
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.schemas import Row
from medeval.models.task_content import task_hash
from medeval.models.task_types import EvaluatedTask
from medeval.tasks.judged_score import aggregates, judging_facts
from medeval.tasks.task import Method, TaskScore

if TYPE_CHECKING:
    from medeval.judging.results import JudgingResults
    from medeval.tasks.judging_plan import JudgingPlan


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
    by_sample = [
        task.score(one, draws=method.n_iters if len(outputs) == 1 else 0, seed=method.seed)
        for one in outputs
    ]
    scored = {
        name: _over_samples([sample[name] for sample in by_sample], method) for name in by_sample[0]
    }
    may_show = task.data_class == "open"
    inputs, _ = task.pairs()
    result = EvaluationResult(
        model_id=model,
        task_id=task.task_id,
        inputs=[
            {"id": str(index), **(row if may_show else {})} for index, row in enumerate(inputs)
        ],
        model_outputs=list(outputs[0]) if may_show else [{} for _ in inputs],
        metrics_results={
            name: found.value for name, found in scored.items() if found.value is not None
        },
        item_scores={
            name: list(found.item_scores)
            for name, found in scored.items()
            if any(score is not None for score in found.item_scores)
        },
        intervals={
            name: found.interval for name, found in scored.items() if found.interval is not None
        },
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
            "by_sample": {name: [sample[name].value for sample in by_sample] for name in scored},
            "n_iters": method.n_iters,
            "seed": method.seed,
            "n": {name: found.n for name, found in scored.items()},
            "undefined": {
                name: {"items": found.n_undefined, "reason": found.reason}
                for name, found in scored.items()
                if found.n_undefined or found.value is None
            },
        },
    )
    return TaskScore(result, headline)


def with_judging(
    scored: TaskScore, results: JudgingResults, plan: JudgingPlan, method: Method
) -> TaskScore:
    """Put a judge's rewards beside the metrics; the headline stays the task's own.

    With several samples an item's reward is the mean over its samples.
    """
    found = scored.result
    made = aggregates(results, plan, method)
    metadata = {
        **found.metadata,
        "judging": judging_facts(results, plan),
        "n": {**found.metadata["n"], **{name: one.n for name, one in made.items()}},
        "undefined": {
            **found.metadata["undefined"],
            **{
                name: {"items": one.n_undefined, "reason": one.reason}
                for name, one in made.items()
                if one.n_undefined
            },
        },
    }
    result = found.model_copy(
        update={
            "metrics_results": {
                **found.metrics_results,
                **{name: one.value for name, one in made.items() if one.value is not None},
            },
            "item_scores": {
                **(found.item_scores or {}),
                **{name: list(one.item_scores) for name, one in made.items()},
            },
            "intervals": {
                **(found.intervals or {}),
                **{name: one.interval for name, one in made.items() if one.interval is not None},
            },
            "metadata": metadata,
        }
    )
    return replace(scored, result=result, warnings=[*scored.warnings, *results.warnings])


def _over_samples(samples: Sequence[Aggregate], method: Method) -> Aggregate:
    if len(samples) == 1:
        return samples[0]
    values = [sample.value for sample in samples if sample.value is not None]
    if all(score is None for sample in samples for score in sample.item_scores):
        # A metric of the whole task has no items whose samples could be put together.
        first = samples[0]
        mean = sum(values) / len(values) if values else None
        return Aggregate(mean, first.n, first.n_undefined, None, first.item_scores, first.reason)
    items = [
        _mean([score for score in scores if score is not None])
        for scores in zip(*(sample.item_scores for sample in samples), strict=True)
    ]
    reason = next((sample.reason for sample in samples if sample.reason), None)
    return aggregate_scores(items, draws=method.n_iters, seed=method.seed, reason=reason)


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None
