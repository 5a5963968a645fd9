"""What an evaluation does with its tasks: planned before a model is asked, and scored after."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, cast

from pydantic import ValidationError

from medeval import __version__
from medeval.errors import UserError
from medeval.evaluation.model_runner import ModelSettings
from medeval.evaluation.task_loader import build_task
from medeval.evaluation.task_registry import TaskRegistry
from medeval.inference.types import Ledger, Outcome
from medeval.metrics.metric import text_of
from medeval.metrics.registry import MetricRegistry
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.documents import described
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.medical_task import input_ids, task_hash
from medeval.models.schemas import Row, missing_keys
from medeval.models.scores import LEVEL
from medeval.models.task_types import EvaluatedTask
from medeval.models.text_files import packaged_yaml
from medeval.reporting.resampling import TaskScores, made_of_others, mean_interval

_KIND = re.compile(r"[A-Za-z0-9_.-]{1,60}")
CategoryMap = Mapping[str, Sequence[str]]

CATEGORIES: CategoryMap = packaged_yaml("medeval.evaluation", "categories")


@dataclass(frozen=True)
class Planned:
    """One task of an evaluation.

    Attributes:
        task_id: its id, or what it was asked for by.
        reason: why it cannot be run; None if it can, and without the rest if not.
        task: with its own `score`.
        inputs: what the model is shown, one mapping an item.
        has_gold: something is expected of some item, so that it can be scored.
        hash: of the task's content.
        violations: where the task breaks its own schemas or rules.
    """

    task_id: str
    reason: Exception | None = None
    task: EvaluatedTask = field(default=cast("EvaluatedTask", None))
    inputs: Sequence[Row] = ()
    has_gold: bool = False
    hash: str | None = None
    violations: Sequence[str] = ()


@dataclass(frozen=True)
class Scoring:
    """How outputs are scored, and scores averaged beyond single metrics.

    Attributes:
        metrics: where names are found.
        draws: resamples of the bootstrap.
        seed: of the bootstrap.
        categories: category to metrics.
        weights: metric or category to weight; empty for no combined score.
        combined_name: what the combined score is called.
    """

    metrics: MetricRegistry
    draws: int
    seed: int
    categories: CategoryMap
    weights: Mapping[str, float]
    combined_name: str

    def members(self, metrics: Iterable[str]) -> dict[str, list[str]]:
        """Return the metrics of each category that a task has, as the task calls them.

        Names of one metric (`rouge1`, `rouge_1`) are one member. A category without any is left
        out.
        """

        def canonical(name: str) -> str:
            return self.metrics.find(name).name if name in self.metrics else name

        named = {canonical(metric): metric for metric in reversed([*metrics])}
        found: dict[str, list[str]] = {}
        for category, names in self.categories.items():
            wanted = dict.fromkeys(map(canonical, names))
            if present := [named[name] for name in wanted if name in named]:
                found[category] = present
        return found

    def check(self, scored: Sequence[str]) -> None:
        """Check that scores of all these metrics can be averaged as wanted.

        Raises:
            UserError: a name stands for two things, a weight is of nothing that is scored, weights
                cannot be used, or a metric of which higher is not better would be averaged.
        """
        if taken := sorted(set(self.categories) & set(scored)):
            raise UserError(f"Category {taken[0]!r} has the name of a metric. Choose another name.")
        present = self.members(scored)
        for category, named in present.items():
            for metric in named:
                self._check_direction(metric, f"category {category!r}")
        if not self.weights:
            return
        if self.combined_name in {*scored, *self.categories}:
            raise UserError(
                f"The combined score cannot be called {self.combined_name!r}: that is scored."
            )
        for name in self.weights:
            if name in scored:
                self._check_direction(name, f"combined score {self.combined_name!r}")
            elif name not in present:
                known = ", ".join([*scored, *present])
                raise UserError(
                    f"A weight is given for {name!r}, which no task has. Known: {known}."
                )
        try:
            BenchmarkReport(model_id="x").add_combined_score(self.weights, self.combined_name)
        except ValueError as error:
            raise UserError(f"The combined score cannot be made: {error}.") from None

    def _check_direction(self, metric: str, place: str) -> None:
        direction = self.metrics.find(metric).direction
        if direction != "higher":
            better = "lower is better" if direction == "lower" else "neither way is better"
            raise UserError(
                f"{metric!r} is in {place}, but {better}: a mean with other scores says nothing."
                " Leave it out."
            )


def plan(refs: Iterable[str], tasks: TaskRegistry, scoring: Scoring) -> list[Planned]:
    """Load the tasks and check all that can be checked without a model.

    Args:
        refs: ids, paths or URLs; one that comes twice counts once.
        tasks: where they are found.
        scoring: how they will be scored.

    Raises:
        UserError: there is no task, two tasks share an id, a metric is not known, or averages
            cannot be made.
    """
    if isinstance(refs, str):
        raise UserError(f"task_ids is a list of ids: [{refs!r}].")
    planned = [_planned(ref, tasks) for ref in dict.fromkeys(map(str, refs))]
    if not planned:
        raise UserError("No task to evaluate. Name at least one.")
    ready = [one for one in planned if one.reason is None]
    counts = Counter(one.task_id for one in ready)
    if twice := sorted(task_id for task_id in counts if counts[task_id] > 1):
        raise UserError(
            f"Two of the tasks are called {twice[0]!r}. Register one of them under another id."
        )
    scored: dict[str, None] = {}
    for one in ready:
        scored |= dict.fromkeys(one.task.metrics or one.task.simple_metrics)
        try:
            for name in scored:
                scoring.metrics.find(name)
        except UserError as error:
            raise UserError(f"Task {one.task_id!r}: {error}") from None
    scoring.check(list(scored))
    return planned


def _planned(ref: str, tasks: TaskRegistry) -> Planned:
    task_id = ref
    try:
        task = tasks.get(ref)
        task_id = task.task_id
        if not isinstance(task, EvaluatedTask):
            # In the class of its type, which knows how outputs are scored.
            task = build_task(task.model_dump(), task_id, task_id)
        inputs, expected = task.pairs()
        if not task.dataset and not any(any(row.values()) for row in inputs):
            raise UserError(f"Task {task_id!r} has no rows, so there is nothing to ask.")
        expected = expected if task.dataset and any(expected) else list(task.expected_outputs)
        wanted, gold = task.schemas()
        # An item of which nothing is expected is asked, and not scored.
        broken = missing_keys(inputs, wanted, "inputs")
        broken += missing_keys([row or None for row in expected], gold, "expected_outputs")
        try:
            task.validate()
        except ValidationError as error:
            # Rows that lack keys are found one by one, and rows that are none have been refused.
            broken[:0] = [rule for rule in described(error) if not rule.startswith("dataset")]
        except ValueError:
            pass  # a row that lacks a key
        content = task_hash(task)
    except (OSError, ValueError, TypeError, AttributeError, UserError) as error:
        return Planned(task_id, error)
    return Planned(task_id, None, task, inputs, any(expected), content, broken)


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
        table = task.table([answer or {} for answer in answers], registry=scoring.metrics)
    scores = table.summary(draws=scoring.draws, seed=scoring.seed)
    metrics: dict[str, dict[str, Any]] = {}
    for name, score in scores.items():
        metric, known = scoring.metrics.find(name), table.columns[name].coverage
        metrics[name] = {
            **score.model_dump(include={"n", "n_undefined", "reason"}),
            "description": metric.description,
            "direction": metric.direction,
            **({} if known is None else {"coverage": known}),
        }
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
            "metrics": metrics,
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
