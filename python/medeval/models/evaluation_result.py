"""What one model answered to one task, and how it scored."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import (
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from medeval.models.documents import FOR_READING, IF_GIVEN, Document, Identifier
from medeval.models.medical_task import MedicalTask
from medeval.models.rows import rows_from_csv, rows_to_csv
from medeval.models.schemas import Row, missing_keys
from medeval.models.scores import Finite, Interval, Moment, Scores, statistics_of, utc_now

# What the metadata of a result may say of each item, in their order.
GOLD, VERDICTS, OUTCOMES = "item_gold", "item_verdicts", "item_outcomes"


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
