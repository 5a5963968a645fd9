"""What comes of an evaluation: every item accounted for, scores with intervals, averages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from medeval import __version__
from medeval.errors import UserError
from medeval.evaluation.harness_plan import ModelSettings, Planned, Scoring
from medeval.inference.types import Ledger, Outcome
from medeval.metrics.metric import text_of
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.medical_task import input_ids
from medeval.models.schemas import Row, missing_keys
from medeval.models.scores import LEVEL
from medeval.reporting.resampling import TaskScores, made_of_others, mean_interval

_KIND = re.compile(r"[A-Za-z0-9_.-]{1,60}")


class ItemsFailedError(RuntimeError):
    """The model gave no output for items; the message counts them and names the kinds."""


class MisalignedError(ValueError):
    """A runner returned more or fewer outputs than inputs, so none can be told to be whose."""


def scored_result(
    model_id: str, planned: Planned, outputs: Sequence[Row], scoring: Scoring, strict: bool
) -> EvaluationResult:
    """Return the result of a task: failed items score as an output with nothing in it.

    Args:
        model_id: the model.
        planned: the task.
        outputs: one for each item.
        scoring: how they are scored.
        strict: raise where an item failed or an output breaks the task's schema.

    Raises:
        ItemsFailedError: every item failed, or, if strict, some did.
        ValueError: the references do not fit the outputs, or, if strict, an output breaks the
            schema.
    """
    from medeval.scoring.table import ScoreTable, result_fields  # numpy is slow to load

    task = planned.task
    endings = [_ending(output, task.target) for output in outputs]
    outcomes = [outcome for outcome, _ in endings]
    failed = outcomes.count(Outcome.ERRORED)
    if failed == len(outcomes) or (strict and failed):
        # A model writes what it likes there: what is not the name of a kind may quote an input.
        kinds = {kind if _KIND.fullmatch(kind) else "other" for _, kind in endings if kind}
        told = ", ".join(sorted(kinds))
        raise ItemsFailedError(f"{task.task_id}: {failed} of {len(outcomes)} items failed ({told})")
    answers = [None if kind else output for output, (_, kind) in zip(outputs, endings, strict=True)]
    broken = missing_keys(answers, task.schemas()[1], "model_outputs")
    if strict and broken:
        raise ValueError(f"{task.task_id}: {broken[0]}")
    table = ScoreTable({})
    if planned.has_gold:
        outputs_or_nothing = [answer or {} for answer in answers]
        table = task.table(outputs_or_nothing, planned.metrics, registry=scoring.metrics)
    scores = table.summary(draws=scoring.draws, seed=scoring.seed)
    described = {name: scoring.metrics.find(name) for name in scores}
    return EvaluationResult(
        model_id=model_id,
        task_id=task.task_id,
        inputs=list(planned.inputs),
        model_outputs=list(outputs),
        **result_fields(table, scores),
        metadata={
            "status": "ok" if planned.has_gold else "unscored",
            **_about_task(planned, outcomes),
            "item_outcomes": [str(outcome) for outcome in outcomes],
            "metrics": {
                name: {
                    **score.model_dump(include={"n", "n_undefined", "reason"}),
                    "description": described[name].description,
                    "direction": described[name].direction,
                    **(
                        {}
                        if (known := table.columns[name].coverage) is None
                        else {"coverage": known}
                    ),
                }
                for name, score in scores.items()
            },
            "validation_errors": [*planned.violations, *broken],
        },
    )


def failed_result(
    planned: Planned, error: Exception, outputs: Sequence[Row] | None, settings: ModelSettings
) -> EvaluationResult:
    """Return the result of a task that failed: a status and a reason, and no score.

    Args:
        planned: the task.
        error: why it failed. Its message is kept where it cannot quote a patient: the task is
            open, or the message is one of this package.
        outputs: what the model had answered; None for nothing.
        settings: what must not be quoted either.
    """
    reason, about = {"type": type(error).__name__}, dict[str, Any]()
    is_ready = planned.reason is None
    may_quote = not is_ready or planned.task.data_class == "open"
    if may_quote or isinstance(error, UserError | ItemsFailedError):
        reason["message"] = settings.scrubbed(str(error))
    if is_ready:
        outcomes = [Outcome.ERRORED] * len(planned.inputs)
        if outputs is not None:
            outcomes = [_ending(output, planned.task.target)[0] for output in outputs]
        about = _about_task(planned, outcomes)
    return EvaluationResult(
        model_id=settings.model_id,
        task_id=planned.task_id,
        metadata={"status": "error", "error": reason, **about},
    )


def _about_task(planned: Planned, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "task_hash": planned.hash,
        "task_type": str(planned.task.task_type),
        "task_name": planned.task.name,
        "data_class": planned.task.data_class,
        "input_ids": input_ids(planned.inputs),
        "outcomes": Ledger(outcomes).as_json(),
    }


def _ending(output: Row, target: str) -> tuple[Outcome, str | None]:
    """Return how an item ended, and the kind of an error in the place of its output."""
    error = output.get("error")
    if isinstance(error, Mapping) and "type" in error:
        # A reply that was refused or cut off came from the model: the call did not fail.
        kind = str(error["type"])
        return Outcome(kind) if kind in set(Outcome) else Outcome.ERRORED, kind
    if text_of(output.get(target)).strip():
        return Outcome.ANSWERED, None
    return Outcome.UNPARSED if text_of(output).strip() else Outcome.EMPTY, None


def finish_report(report: BenchmarkReport, scoring: Scoring, about: Mapping[str, Any]) -> None:
    """Add roll-ups, their intervals and the metadata to a report of all results.

    Args:
        report: has the results of the run, each task once.
        scoring: how the results were scored, and are averaged.
        about: metadata of the run beyond what the results tell.
    """
    # Each category beside the metrics of a task: the mean of those that it has.
    used: dict[str, dict[str, list[str]]] = {}
    overall: dict[str, list[float]] = {}
    for task_id, scores in report.task_scores.items():
        for category, metrics in scoring.members(list(scores)).items():
            value = scores[category] = fmean(scores[metric] for metric in metrics)
            report.metric_counts.setdefault(task_id, {})[category] = 1
            overall.setdefault(category, []).append(value)
            used.setdefault(task_id, {})[category] = metrics
    report.overall_scores.update({name: fmean(values) for name, values in overall.items()})
    combined = None
    if scoring.weights:
        report.add_combined_score(scoring.weights, scoring.combined_name)
        combined = {"name": scoring.combined_name, "weights": dict(scoring.weights)}
    told = {one.task_id: one.metadata for one in report.detailed_results}
    outcomes: Counter[str] = Counter()
    for one in told.values():
        outcomes.update(one.get("outcomes", {}))
    kept = ("status", "task_hash", "data_class")
    errors = [error for one in told.values() for error in one.get("validation_errors", ())]
    report.metadata |= {
        **about,
        "medeval_version": __version__,
        "bootstrap": {"draws": scoring.draws, "seed": scoring.seed, "level": LEVEL},
        "tasks": {
            task_id: {key: one[key] for key in kept if key in one} for task_id, one in told.items()
        },
        "failed_tasks": [task_id for task_id, one in told.items() if one["status"] == "error"],
        "outcomes": dict(outcomes),
        "categories": used,
        "combined": combined,
        "intervals": _intervals(report, used, combined, scoring),
        "validation_errors": list(dict.fromkeys(errors)),
    }


def _intervals(
    report: BenchmarkReport,
    used: Mapping[str, Mapping[str, Sequence[str]]],
    combined: dict[str, Any] | None,
    scoring: Scoring,
) -> dict[str, dict[str, Any]]:
    """Return the intervals of overall scores, and of what is rolled up within tasks."""
    tasks: dict[str, TaskScores] = {}
    rolled: dict[str, dict[str, Any]] = {}
    for result in report.detailed_results:
        task_id, scores = result.task_id, report.task_scores[result.task_id]
        made_of = made_of_others(scores, used.get(task_id, {}), combined)
        task = tasks[task_id] = TaskScores(result, made_of, scoring.draws, scoring.seed)
        found = {name: mean_interval([task], name) for name in made_of}
        if known := {name: one.model_dump() for name, one in found.items() if one}:
            rolled[task_id] = known
    overall: dict[str, Any] = {}
    for name in report.overall_scores:
        having = [tasks[task_id] for task_id, one in report.task_scores.items() if name in one]
        if interval := mean_interval(having, name):
            overall[name] = interval.model_dump()
    return {"overall_scores": overall, "task_scores": rolled}
