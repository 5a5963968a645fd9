"""The report of an evaluation brought to its end: roll-ups, their intervals, what was done."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from medeval import __version__
from medeval.evaluation.harness_categories import roll_up
from medeval.evaluation.harness_plan import Averages, NotPlanned, Planned
from medeval.evaluation.harness_settings import ModelSettings
from medeval.evaluation.harness_task import STATUS_ERROR, Scoring
from medeval.inference.types import canonical
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.scores import LEVEL
from medeval.reporting.resampling import TaskScores, made_of_others, mean_interval


def run_id(
    started: datetime, settings: ModelSettings, planned: Sequence[Planned | NotPlanned]
) -> str:
    """Return a name for a run: its start, and a hash of the model and the tasks' contents."""
    contents = [[one.task_id, None if isinstance(one, NotPlanned) else one.hash] for one in planned]
    text = canonical({"model": dict(settings.decisive), "tasks": sorted(contents, key=str)})
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{started.astimezone(UTC):%Y%m%dT%H%M%S%fZ}-{digest}"


def finish_report(
    report: BenchmarkReport, averages: Averages, scoring: Scoring, about: Mapping[str, Any]
) -> None:
    """Add roll-ups, their intervals and the metadata to a report of all results.

    Args:
        report: has the results of the run, each task once.
        averages: what is rolled up.
        scoring: how the results were scored.
        about: metadata of the run beyond what the results tell.
    """
    used = roll_up(report, averages.categories, scoring.metrics)
    if averages.weights:
        report.add_combined_score(averages.weights, averages.combined_name)
    results = report.detailed_results
    failed = [one.task_id for one in results if one.metadata["status"] == STATUS_ERROR]
    report.metadata |= {
        **about,
        "medeval_version": __version__,
        "bootstrap": {"draws": scoring.draws, "seed": scoring.seed, "level": LEVEL},
        "tasks": {
            one.task_id: {
                key: one.metadata[key]
                for key in ("status", "task_hash", "data_class")
                if key in one.metadata
            }
            for one in results
        },
        "failed_tasks": failed,
        "outcomes": _summed(one.metadata.get("outcomes", {}) for one in results),
        "categories": used,
        "combined": _combined(averages),
        "intervals": _intervals(report, used, averages, scoring),
        "validation_errors": list(
            dict.fromkeys(
                error for one in results for error in one.metadata.get("validation_errors", ())
            )
        ),
    }


def _combined(averages: Averages) -> dict[str, Any] | None:
    if not averages.weights:
        return None
    return {"name": averages.combined_name, "weights": dict(averages.weights)}


def _summed(ledgers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for ledger in ledgers:
        total.update(ledger)
    return dict(total)


def _intervals(
    report: BenchmarkReport,
    used: Mapping[str, Mapping[str, Sequence[str]]],
    averages: Averages,
    scoring: Scoring,
) -> dict[str, Any]:
    """Return the intervals of overall scores, and of what is rolled up within tasks."""
    tasks: dict[str, TaskScores] = {}
    rolled: dict[str, dict[str, Any]] = {}
    for result in report.detailed_results:
        scores = report.task_scores[result.task_id]
        made_of = made_of_others(scores, used.get(result.task_id, {}), _combined(averages))
        task = tasks[result.task_id] = TaskScores(result, made_of, scoring.draws, scoring.seed)
        found = {name: task.interval(name, LEVEL) for name in made_of}
        rolled[result.task_id] = {name: one.model_dump() for name, one in found.items() if one}
    overall = {
        name: mean_interval(
            [tasks[task_id] for task_id, scores in report.task_scores.items() if name in scores],
            name,
            LEVEL,
        )
        for name in report.overall_scores
    }
    return {
        "overall_scores": {name: one.model_dump() for name, one in overall.items() if one},
        "task_scores": {task_id: found for task_id, found in rolled.items() if found},
    }
