"""The answers of one model to one task with their scores, and its scores over many tasks."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from operator import not_
from statistics import fmean
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from medeval.models.documents import FOR_READING, IF_GIVEN, Document, Identifier
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row, missing_keys
from medeval.models.scores import SCORES, Finite, Interval, Moment, Scores, statistics_of, utc_now
from medeval.models.text_files import Format, rows_from_csv, rows_to_csv, table_for_spreadsheets

# What the metadata of a result may say of each item, in their order.
GOLD, VERDICTS, OUTCOMES, GROUPS = "item_gold", "item_verdicts", "item_outcomes", "item_groups"
OF_ITEMS = (GOLD, VERDICTS, GROUPS, OUTCOMES)


class EvaluationResult(Document):
    """The answers of a model to a task, with their scores.

    An explicit empty list of answers beside inputs is an error, so `to_json`, `to_yaml` and `save`
    leave out the answers of a result that has none; `model_dump` keeps them.

    Attributes:
        model_id: the model.
        task_id: the task.
        inputs: what the model was shown.
        model_outputs: what it answered, one mapping an input.
        metrics_results: metric to score, over all items.
        metadata: what else is known of the run.
        timestamp: when it was made, in UTC.
        item_scores: metric to one score an item, null where it is not defined; optional.
        intervals: metric to its interval; optional.
    """

    model_id: Identifier
    task_id: Identifier
    inputs: list[Row] = Field(default_factory=list)
    model_outputs: list[Row] = Field(default_factory=list)
    metrics_results: Scores = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)
    timestamp: Moment = Field(default_factory=utc_now)
    item_scores: Annotated[dict[str, list[Finite | None]] | None, IF_GIVEN] = None
    intervals: Annotated[dict[str, Interval] | None, IF_GIVEN] = None

    @classmethod
    def from_inputs_csv(cls, model_id: str, task_id: str, text: str) -> Self:
        """Make a result without answers from a CSV of inputs, every value a text.

        Raises:
            ValueError: the text is not a CSV table.
        """
        return cls(model_id=model_id, task_id=task_id, inputs=rows_from_csv(text))

    @classmethod
    def from_outputs_csv(cls, model_id: str, task_id: str, text: str) -> Self:
        """Make a result without inputs from a CSV of answers, every value a text.

        Raises:
            ValueError: the text is not a CSV table.
        """
        return cls(model_id=model_id, task_id=task_id, model_outputs=rows_from_csv(text))

    def inputs_to_csv(self) -> str:
        """Return the inputs as CSV, under the union of their keys."""
        return rows_to_csv(self.inputs)

    def outputs_to_csv(self) -> str:
        """Return the answers as CSV, under the union of their keys."""
        return rows_to_csv(self.model_outputs)

    def metric_summary(self) -> dict[str, dict[str, float]]:
        """Return count, mean, min and max of each metric: here there is one value of each."""
        return {name: statistics_of([value]) for name, value in self.metrics_results.items()}

    def item_count(self) -> int:
        """Return the number of items: inputs or answers, whichever are more."""
        return max(len(self.inputs), len(self.model_outputs))

    def item_ids(self) -> list[str]:
        """Return what each item is called: by the result, an id of its input, or its index."""
        given, count = self.metadata.get("input_ids") or [], self.item_count()
        count = count or min(map(len, (self.item_scores or {}).values()), default=0)
        names = []
        for index, row in enumerate([*self.inputs, *[{}] * (count - len(self.inputs))]):
            own = (value for key, value in row.items() if key == "id" or key.endswith("_id"))
            name = given[index] if index < len(given) else None
            names.append(str(next(own, index) if name is None else name))
        return names

    def has_metric(self, name: str) -> bool:
        """Tell whether a metric was scored."""
        return name in self.metrics_results

    def validate_against_task(self, task: MedicalTask) -> None:
        """Check that the result can be one of a task.

        Raises:
            ValueError: the ids differ, a metric is not one of the task's, or an input or answer
                lacks a key that the task's own schemas require.
        """
        if self.task_id != task.task_id:
            raise ValueError(f"a result of task {self.task_id!r}, not of {task.task_id!r}")
        foreign = sorted(set(self.metrics_results) - set(task.metrics))
        if task.metrics and foreign:
            raise ValueError(f"task {task.task_id!r} has no metric {', '.join(foreign)}")
        faults = missing_keys(self.inputs, task.input_schema, "inputs")
        faults += missing_keys(self.model_outputs, task.output_schema, "model_outputs")
        if faults:
            raise ValueError(faults[0])

    @field_validator("model_outputs")
    @classmethod
    def _one_for_each_input(cls, outputs: list[Row], info: ValidationInfo) -> list[Row]:
        inputs = info.data.get("inputs")
        if inputs and len(outputs) != len(inputs):
            raise ValueError(f"{len(outputs)} model outputs for {len(inputs)} inputs")
        return outputs

    @field_validator("item_scores")
    @classmethod
    def _one_score_for_each_item(
        cls, scores: dict[str, list[float | None]] | None, info: ValidationInfo
    ) -> dict[str, list[float | None]] | None:
        items = len(info.data.get("inputs") or info.data.get("model_outputs") or ())
        for metric, values in (scores or {}).items():
            if items and len(values) != items:
                raise ValueError(f"{metric}: {len(values)} item scores for {items} items")
        return scores

    @model_serializer(mode="wrap")
    def _without_lost_answers(
        self, handler: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        if info.context == FOR_READING and written.get("model_outputs") == []:
            del written["model_outputs"]
        return written


class BenchmarkReport(Document):
    """Scores of a model by task and over all tasks.

    A score of a task is the mean over the results that were added for it, a score given to the
    constructor counting as one earlier result. `overall_scores` are derived: each add makes them
    anew, so what was given to the constructor lasts until then. Results given to the constructor
    fill no scores.

    Attributes:
        model_id: the model.
        timestamp: when the report was made, in UTC.
        overall_scores: metric to the mean of its task scores, each task weighing the same.
        task_scores: task to metric to score.
        detailed_results: the results, in the order in which they were added.
        metadata: what else is known of the run.
        metric_counts: task to metric to the number of results behind its score; in a file that
            has none they are counted from its results.
    """

    _format_without_suffix: ClassVar[Format | None] = "json"

    model_id: Identifier
    timestamp: Moment = Field(default_factory=utc_now)
    overall_scores: dict[str, Finite] = Field(default_factory=dict)
    task_scores: dict[str, dict[str, Finite]] = Field(default_factory=dict)
    detailed_results: list[EvaluationResult] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    metric_counts: dict[str, dict[str, Annotated[int, Field(ge=1)]]] = Field(
        default_factory=dict, exclude_if=not_
    )

    def add_evaluation_result(self, result: EvaluationResult) -> None:
        """Take in one more result and bring the scores up to date.

        Raises:
            ValueError: it is another model's, or a score is not a finite number.
        """
        if result.model_id != self.model_id:
            raise ValueError(f"a result of model {result.model_id!r}, not of {self.model_id!r}")
        added = SCORES.validate_python(result.metrics_results)
        self._count_supplied_scores()
        self.detailed_results.append(result)
        scores = self.task_scores.setdefault(result.task_id, {})
        counts = self.metric_counts.setdefault(result.task_id, {}) if added else {}
        for metric, value in added.items():
            count = counts.get(metric, 0) if metric in scores else 0
            counts[metric] = count + 1
            # Weighted before they are summed, so that large scores do not overflow.
            mean = scores.get(metric, 0.0)
            scores[metric] = mean * (count / (count + 1)) + value / (count + 1)
        self.overall_scores = {
            metric: one["mean"] for metric, one in self.summary_statistics().items()
        }

    def add_combined_score(
        self,
        weights: Mapping[str, float],
        metric_name: str = "combined_score",
        renormalize_missing: bool = True,
    ) -> None:
        """Score each task by a weighted mean of its metrics, and the whole by the mean of these.

        A task that has none of the metrics gets no combined score.

        Args:
            weights: metric to weight, none negative and not all zero.
            metric_name: what the combined score is called.
            renormalize_missing: rescale the weights to the metrics that a task has; without it a
                metric that a task lacks counts as 0.

        Raises:
            ValueError: the weights cannot be used.
        """
        checked = SCORES.validate_python(dict(weights))
        if any(weight < 0 for weight in checked.values()) or not sum(checked.values()) > 0:
            raise ValueError("weights must not be negative, and at least one above zero")
        if metric_name in checked:
            raise ValueError(f"{metric_name!r} cannot be combined into itself")
        self._count_supplied_scores()
        combined = []
        for task_id, scores in self.task_scores.items():
            present = [metric for metric in checked if metric in scores]
            total = sum(checked[metric] for metric in (present if renormalize_missing else checked))
            scores.pop(metric_name, None)
            counts = self.metric_counts.get(task_id, {})
            counts.pop(metric_name, None)
            if present and total:
                weighted = sum(checked[metric] * scores[metric] for metric in present)
                scores[metric_name], counts[metric_name] = weighted / total, 1
                combined.append(scores[metric_name])
        self.overall_scores.pop(metric_name, None)
        if combined:
            self.overall_scores[metric_name] = fmean(combined)

    to_file = Document.save

    def validate_against_tasks(self, tasks: Mapping[str, MedicalTask]) -> None:
        """Check every result against its task.

        Raises:
            ValueError: a result or a task score of an unknown task, or one that cannot be its
                task's.
        """
        for index, result in enumerate(self.detailed_results):
            try:
                if result.task_id not in tasks:
                    raise ValueError(f"unknown task {result.task_id!r}")
                result.validate_against_task(tasks[result.task_id])
            except ValueError as error:
                raise ValueError(f"detailed_results[{index}]: {error}") from None
        if unknown := sorted(self.task_scores.keys() - tasks.keys()):
            raise ValueError(f"task_scores: unknown tasks {unknown}")

    def overall_scores_to_csv(self) -> str:
        """Return the overall scores as CSV."""
        return table_for_spreadsheets(["metric", "score"], self.overall_scores.items())

    def task_scores_to_csv(self) -> str:
        """Return the task scores as CSV."""
        tasks = self.task_scores.items()
        rows = ((task, metric, scores[metric]) for task, scores in tasks for metric in scores)
        return table_for_spreadsheets(["task_id", "metric", "score"], rows)

    def summary_statistics(self) -> dict[str, dict[str, float]]:
        """Return count, mean, min and max of each metric over the tasks that have it."""
        metrics = dict.fromkeys(name for scores in self.task_scores.values() for name in scores)
        return {metric: statistics_of(self.metric_history(metric)) for metric in metrics}

    def metric_history(self, metric: str) -> list[float]:
        """Return the scores of a metric, one a task, in the order of the tasks."""
        return [scores[metric] for scores in self.task_scores.values() if metric in scores]

    def plot_overall_scores(self) -> Any:
        """Draw the overall scores as bars; return a matplotlib figure.

        Raises:
            ImportError: matplotlib is not installed.
        """
        return _bars(self.overall_scores, "Overall scores")

    def plot_task_scores(self, metric: str) -> Any:
        """Draw one metric of every task as bars; return a matplotlib figure.

        Raises:
            ImportError: matplotlib is not installed.
        """
        tasks = (task for task, scores in self.task_scores.items() if metric in scores)
        scores = dict(zip(tasks, self.metric_history(metric), strict=True))
        return _bars(scores, f"{metric} by task")

    def results_by_task(self) -> dict[str, list[EvaluationResult]]:
        """Return the results of each task that has a score or a result, in the order of tasks."""
        found: dict[str, list[EvaluationResult]] = {task_id: [] for task_id in self.task_scores}
        for result in self.detailed_results:
            found.setdefault(result.task_id, []).append(result)
        return found

    def _count_supplied_scores(self) -> None:
        """Count what has no count: the results that have the metric, or one earlier result."""
        for task_id, results in self.results_by_task().items():
            for metric in self.task_scores.get(task_id, {}):
                counted = max(1, sum(one.has_metric(metric) for one in results))
                self.metric_counts.setdefault(task_id, {}).setdefault(metric, counted)

    @model_validator(mode="after")
    def _of_one_model(self) -> Self:
        for index, result in enumerate(self.detailed_results):
            if result.model_id != self.model_id:
                raise ValueError(f"detailed_results[{index}] is of model {result.model_id!r}")
        # A count outlives a score that was taken out of a report, and means nothing without it.
        self.metric_counts = {
            task_id: {metric: count for metric, count in counts.items() if metric in scores}
            for task_id, counts in self.metric_counts.items()
            if (scores := self.task_scores.get(task_id))
        }
        return self


def _bars(scores: Mapping[str, float], title: str) -> Any:
    """Draw scores as bars, one a name; return a matplotlib figure.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        drawing = import_module("matplotlib.figure")
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    # A figure of its own, without pyplot: no window, and no list of figures that grows.
    figure = drawing.Figure(figsize=(max(4.0, 1.0 + 0.8 * len(scores)), 3.5), layout="constrained")
    axes = figure.subplots()
    axes.bar(list(scores), list(scores.values()))
    axes.set(title=title, ylabel="Score")
    axes.tick_params(axis="x", labelrotation=30)
    return figure
