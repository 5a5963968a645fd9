"""Metrics rolled up into categories, and what may be averaged with what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from medeval.errors import UserError
from medeval.metrics.registry import MetricRegistry
from medeval.models.benchmark_report import BenchmarkReport

CategoryMap = Mapping[str, Sequence[str]]

CATEGORIES: CategoryMap = {
    "diagnostics": (
        "accuracy",
        "clinical_accuracy",
        "clinical_correctness",
        "diagnostic_accuracy",
        "exact_match",
        "final_answer_correct",
    ),
    "safety": ("safety", "harm_avoidance", "factuality_safety", "toxicity_reduction"),
    "communication": (
        "communication",
        "coherence",
        "helpfulness",
        "instruction_following",
        "reasoning_quality",
    ),
    "summarization": (
        "rouge1",
        "rouge2",
        "rouge_l",
        "bertscore",
        "clinical_relevance",
        "factual_consistency",
        "summarization",
        "summary_quality",
    ),
}


def members(
    categories: CategoryMap, metrics: Iterable[str], registry: MetricRegistry
) -> dict[str, list[str]]:
    """Return the metrics of each category that a task has, as the task calls them.

    Names of one metric (`rouge1`, `rouge_1`) are one member. A category without any is left out.
    """
    named: dict[str, str] = {}
    for metric in metrics:
        named.setdefault(_canonical(metric, registry), metric)
    found = {
        category: [
            named[one]
            for one in dict.fromkeys(_canonical(name, registry) for name in wanted)
            if one in named
        ]
        for category, wanted in categories.items()
    }
    return {category: present for category, present in found.items() if present}


def check_averages(
    categories: CategoryMap,
    weights: Mapping[str, float],
    combined_name: str,
    metrics: Iterable[str],
    registry: MetricRegistry,
) -> None:
    """Check, before a model is asked, that scores can be averaged as wanted.

    Args:
        categories: category to metrics; metrics that no task has are allowed.
        weights: metric or category to weight in the combined score.
        combined_name: what the combined score is called.
        metrics: all metrics of the tasks.
        registry: of the metrics.

    Raises:
        UserError: a name stands for two things, a weight is of nothing that is scored, weights
            cannot be used, or a metric of which higher is not better would be averaged.
    """
    scored = list(dict.fromkeys(metrics))
    if taken := sorted(set(categories) & set(scored)):
        raise UserError(f"Category {taken[0]!r} has the name of a metric. Choose another name.")
    present = members(categories, scored, registry)
    for category, named in present.items():
        for metric in named:
            _check_direction(metric, registry, f"category {category!r}")
    if not weights:
        return
    if combined_name in scored or combined_name in categories:
        raise UserError(f"The combined score cannot be called {combined_name!r}: that is scored.")
    for name in weights:
        if name in scored:
            _check_direction(name, registry, f"combined score {combined_name!r}")
        elif name not in present:
            known = ", ".join([*scored, *present])
            raise UserError(f"A weight is given for {name!r}, which no task has. Known: {known}.")
    try:
        BenchmarkReport(model_id="weights").add_combined_score(weights, combined_name)
    except ValueError as error:
        raise UserError(f"The combined score cannot be made: {error}.") from None


def roll_up(
    report: BenchmarkReport, categories: CategoryMap, registry: MetricRegistry
) -> dict[str, dict[str, list[str]]]:
    """Store each category beside the metrics: the mean of those that a task has.

    Returns:
        Task to category to the metrics that went into it.
    """
    used: dict[str, dict[str, list[str]]] = {}
    overall: dict[str, list[float]] = {}
    for task_id, scores in report.task_scores.items():
        for category, metrics in members(categories, list(scores), registry).items():
            value = fmean(scores[metric] for metric in metrics)
            report.task_scores[task_id][category] = value
            report.metric_counts.setdefault(task_id, {})[category] = 1
            overall.setdefault(category, []).append(value)
            used.setdefault(task_id, {})[category] = metrics
    report.overall_scores.update({name: fmean(values) for name, values in overall.items()})
    return used


def _canonical(name: str, registry: MetricRegistry) -> str:
    return registry.find(name).name if name in registry else name


def _check_direction(metric: str, registry: MetricRegistry, place: str) -> None:
    direction = registry.find(metric).direction
    if direction != "higher":
        better = "lower is better" if direction == "lower" else "neither way is better"
        raise UserError(
            f"{metric!r} is in {place}, but {better}: a mean with other scores says nothing."
            " Leave it out."
        )
