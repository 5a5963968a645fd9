"""The task classes: a medical task of each type with its usual keys, metrics and evaluation."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_validator

from medeval.models.csv_rows import rows_from_csv
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import Row, is_nested, split_rows, validate_rows
from medeval.models.text_files import read_text

if TYPE_CHECKING:
    from medeval.metrics.metric import Item
    from medeval.metrics.registry import MetricRegistry
    from medeval.models.scores import Interval
    from medeval.scoring.table import ScoreTable

Level = Literal["simple", "calculator", "proper"]
Record = Mapping[str, Any]

_TEXT_PROXIES = {
    "rouge_l": "rouge_l_proxy",
    "clinical_relevance": "clinical_relevance_proxy",
    "factual_consistency": "factual_consistency_proxy",
}
_TEXT_FUNCTIONS = {
    "rouge_l": "summary_rouge_l",
    "clinical_relevance": "note_overlap",
    "factual_consistency": "summary_overlap",
}


class EvaluatedTask(MedicalTask):
    """A task that knows how its outputs are scored.

    Made without rows, it holds one blank input and expected output, which give way to the rows of
    `dataset` as soon as it has some, also when `dataset` is assigned.

    Class attributes:
        own_type: the task type.
        own_input: the key of the input.
        own_output: the key of the output, and of the answer that is scored.
        simple_metrics: the documented metric names, with the registered proxy behind each.
        calculator_metrics: those that have a richer function, with its name in `metrics.proxies`.
        aliases: other names of the input key, the first of which a row has is read.
    """

    own_type: ClassVar[TaskType]
    own_input: ClassVar[str]
    own_output: ClassVar[str]
    simple_metrics: ClassVar[Mapping[str, str]]
    calculator_metrics: ClassVar[Mapping[str, str]]
    aliases: ClassVar[Sequence[str]] = ()

    def __init__(self, *id_and_description: str, **fields: Any) -> None:
        """Take the task's id and, if wanted, its description, and any field by its name.

        The name defaults to the id; schemas and metrics default to those of the class.

        Raises:
            pydantic.ValidationError: naming each field that breaks a rule.
        """
        if len(id_and_description) > 2:
            raise TypeError("only task_id and description go without a name")
        named: dict[str, Any] = dict(
            zip(("task_id", "description"), id_and_description, strict=False)
        )
        super().__init__(**named, **fields)

    def pairs(self) -> tuple[list[Row], list[Row]]:
        """See `MedicalTask.pairs`; other names of the input key are read as that key."""
        shown, expected = super().pairs()
        return [self._renamed(row, self.input_schema) for row in shown], expected

    def load_data(self, path: str | Path) -> None:
        """Read the rows of the task: a JSON list or a CSV table, nested or flat.

        In a CSV table, cells under `input` and `output` are JSON mappings. Nothing changes unless
        all rows can be used.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: another suffix, or rows that cannot be used; naming file and row.
        """
        place = Path(path)
        try:
            rows = [self._renamed_row(row, self.input_schema) for row in _rows_of(place)]
            validate_rows(rows, self.input_schema, self.output_schema)
            inputs, expected = split_rows(
                rows, self.task_type, self.input_schema, self.output_schema
            )
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        self.dataset, self.inputs, self.expected_outputs = rows, inputs, expected

    def evaluate(
        self, model_outputs: Sequence[Record], level: Level = "simple", strict: bool = False
    ) -> dict[str, float | None]:
        """Return the value of each metric.

        References are the outputs of `dataset` where it has any, else `expected_outputs`.

        Args:
            model_outputs: one for each reference.
            level: `simple` for the documented proxies, `calculator` for the richer functions of
                the project they come from (NaN where undefined), `proper` for the task's metrics
                as this package defines them (None where undefined).
            strict: make lengths that differ an error at the simple level too. Without it the
                longer list is cut, with a warning, and no pair at all scores 0.

        Raises:
            ValueError: another level, an output that is no mapping, or lengths that differ.
            UserError: a metric that is not known, at the proper level.
        """
        if level == "simple":
            return self._simple(model_outputs, strict)
        if level == "calculator":
            return self._calculator(model_outputs)
        if level == "proper":
            scored = self.score(model_outputs, draws=0)
            return {name: found.value for name, found in scored.items()}
        raise ValueError(f"unknown level {level!r}: use simple, calculator or proper")

    def score(
        self,
        model_outputs: Sequence[Record],
        metrics: Sequence[str] | None = None,
        *,
        registry: MetricRegistry | None = None,
        draws: int | None = None,
        seed: int = 0,
    ) -> dict[str, Interval]:
        """Return the value of each metric with its interval.

        0 `draws` give values only, 1000 are usual; all else is as in `table`.
        """
        from medeval.models.scores import DRAWS

        table = self.table(model_outputs, metrics, registry=registry)
        return table.summary(draws=DRAWS if draws is None else draws, seed=seed)

    def table(
        self,
        model_outputs: Sequence[Record],
        metrics: Sequence[str] | None = None,
        *,
        registry: MetricRegistry | None = None,
    ) -> ScoreTable:
        """Return the score of each item by each metric.

        Args:
            model_outputs: one for each reference.
            metrics: names of registered metrics; by default those of the task.
            registry: where the names are looked up; by default the metrics of this package.

        Raises:
            UserError: a metric that is not known.
            ValueError: an output that is no mapping, or lengths that differ.
        """
        from medeval.metrics.registry import default_registry
        from medeval.scoring.table import ScoreTable

        registry = registry or default_registry()
        names = self.metrics if metrics is None else metrics
        found = {name: registry.find(name) for name in names or self.simple_metrics}
        references = self._references()
        _check_lengths(references, model_outputs)
        items = self._items(references, model_outputs)
        return ScoreTable({name: metric.column(items) for name, metric in found.items()})

    def _simple(self, outputs: Sequence[Record], strict: bool) -> dict[str, float | None]:
        from medeval.metrics.registry import default_registry

        references = self._references()
        try:
            _check_lengths(references, outputs)
        except ValueError as error:
            if strict:
                raise
            warnings.warn(f"{error}; the surplus is ignored", UserWarning, stacklevel=3)
        length = min(len(references), len(outputs))
        if not length:
            # What is no proxy has no such rule: it is undefined.
            proxies = self.simple_metrics.items()
            return {name: None if name == proxy else 0.0 for name, proxy in proxies}
        items = self._items(references[:length], outputs[:length])
        registry = default_registry()
        return {
            name: registry.find(proxy).column(items).value()
            for name, proxy in self.simple_metrics.items()
        }

    def _calculator(self, outputs: Sequence[Record]) -> dict[str, float | None]:
        from medeval.metrics import proxies

        references = self._references()
        _check_lengths(references, outputs)
        _check_mappings(outputs)
        pairs = list(zip(references, outputs, strict=True))
        return {
            name: proxies.mean_of_defined(
                getattr(proxies, function)(reference, output, self.target)
                for reference, output in pairs
            )
            for name, function in self.calculator_metrics.items()
        }

    def _references(self) -> list[Row]:
        expected = self.pairs()[1] if self.dataset else []
        return expected if any(expected) else list(self.expected_outputs)

    def _items(self, references: Sequence[Row], outputs: Sequence[Record]) -> list[Item]:
        from medeval.metrics.metric import Item

        _check_mappings(outputs)
        inputs = self.pairs()[0]
        if len(inputs) != len(references):
            # The blank input of a task made without rows, or references assigned by themselves.
            inputs = [{} for _ in references]
        return [
            Item(source, reference, output, self.target)
            for source, reference, output in zip(inputs, references, outputs, strict=True)
        ]

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "dataset" and value and _is_blank(self.inputs):
            try:
                inputs, expected = self.pairs()
            except (ValueError, TypeError, AttributeError):
                return  # assignment checks nothing: `validate` and `evaluate` name what is wrong
            super().__setattr__("inputs", inputs)
            super().__setattr__("expected_outputs", expected)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        """Fill in what the class knows, before the fields are checked."""
        if not isinstance(data, Mapping):
            return data
        fields = dict(data)
        if fields.setdefault("task_type", cls.own_type) != cls.own_type:
            raise ValueError(f"{cls.__name__} is for task_type {cls.own_type.value!r}")
        if fields.get("name") is None:
            fields["name"] = fields.get("task_id")
        fields.setdefault("metrics", list(cls.simple_metrics))
        fields["input_schema"] = fields.get("input_schema") or {"required": [cls.own_input]}
        fields["output_schema"] = fields.get("output_schema") or {"required": [cls.own_output]}
        if not fields.get("dataset") and "inputs" not in fields:
            fields["inputs"] = [{cls.own_input: ""}]
            fields.setdefault("expected_outputs", [{cls.own_output: ""}])
        for rows in ("inputs", "dataset"):
            if isinstance(fields.get(rows), list):
                fields[rows] = [
                    cls._renamed_row(row, fields["input_schema"]) for row in fields[rows]
                ]
        if _are_rows(fields.get("dataset")) and _is_placeholder(fields):
            inputs, expected = split_rows(
                fields["dataset"], cls.own_type, fields["input_schema"], fields["output_schema"]
            )
            fields["inputs"] = inputs
            if any(expected) or not fields.get("expected_outputs"):
                fields["expected_outputs"] = expected
        return fields

    @classmethod
    def _renamed_row(cls, row: Any, schema: Any) -> Any:
        """Return a row, nested or flat, with the input under the class's own key."""
        if not isinstance(row, Mapping):
            return row
        if not is_nested(row):
            return cls._renamed(row, schema)
        if not isinstance(row.get("input"), Mapping):
            return dict(row)
        return {**row, "input": cls._renamed(row["input"], schema)}

    @classmethod
    def _renamed(cls, record: Record, schema: Any) -> Row:
        """Return an input under the class's own key, unless the schema asks for other keys."""
        row = dict(record)
        wanted = isinstance(schema, Mapping) and cls.own_input in (schema.get("required") or [])
        if wanted and cls.own_input not in row:
            for alias in [alias for alias in cls.aliases if alias in row][:1]:
                row[cls.own_input] = cls._input_from(row.pop(alias), row)
        return row

    @classmethod
    def _input_from(cls, value: Any, row: Row) -> Any:
        """Return the input that stood under another name; `row` is the rest of its record."""
        del row
        return value


class MedicalQATask(EvaluatedTask):
    """Questions with an answer each."""

    own_type: ClassVar[TaskType] = TaskType.QA
    own_input: ClassVar[str] = "question"
    own_output: ClassVar[str] = "answer"
    simple_metrics: ClassVar[Mapping[str, str]] = {
        "accuracy": "accuracy_proxy",
        "clinical_correctness": "clinical_correctness_proxy",
    }
    calculator_metrics: ClassVar[Mapping[str, str]] = {"clinical_correctness": "same_or_contained"}


class DiagnosticReasoningTask(EvaluatedTask):
    """Cases with a diagnosis each; `symptoms`, text or list, are read as `case`."""

    own_type: ClassVar[TaskType] = TaskType.DIAGNOSTIC_REASONING
    own_input: ClassVar[str] = "case"
    own_output: ClassVar[str] = "diagnosis"
    simple_metrics: ClassVar[Mapping[str, str]] = {
        "diagnostic_accuracy": "diagnostic_accuracy_proxy",
        "reasoning_quality": "reasoning_cue_rate",
    }
    calculator_metrics: ClassVar[Mapping[str, str]] = {"reasoning_quality": "rationale_overlap"}
    aliases: ClassVar[Sequence[str]] = ("symptoms",)

    @classmethod
    def _input_from(cls, value: Any, row: Row) -> Any:
        return "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


class ClinicalSummarizationTask(EvaluatedTask):
    """Documents with a summary each; `text` or `note` are read as `document`."""

    own_type: ClassVar[TaskType] = TaskType.SUMMARIZATION
    own_input: ClassVar[str] = "document"
    own_output: ClassVar[str] = "summary"
    simple_metrics: ClassVar[Mapping[str, str]] = _TEXT_PROXIES
    calculator_metrics: ClassVar[Mapping[str, str]] = _TEXT_FUNCTIONS
    aliases: ClassVar[Sequence[str]] = ("text", "note")


class CommunicationTask(EvaluatedTask):
    """Messages with a response each; `patient_message`, and `context`, are read as `prompt`."""

    own_type: ClassVar[TaskType] = TaskType.COMMUNICATION
    own_input: ClassVar[str] = "prompt"
    own_output: ClassVar[str] = "response"
    simple_metrics: ClassVar[Mapping[str, str]] = {**_TEXT_PROXIES, "readability": "readability"}
    calculator_metrics: ClassVar[Mapping[str, str]] = _TEXT_FUNCTIONS
    aliases: ClassVar[Sequence[str]] = ("patient_message",)

    @classmethod
    def _input_from(cls, value: Any, row: Row) -> Any:
        context = row.pop("context", None)
        return f"{value}\n\nContext: {context}" if context else value


TASK_CLASSES: Mapping[TaskType, type[EvaluatedTask]] = {
    kind.own_type: kind
    for kind in (
        MedicalQATask,
        DiagnosticReasoningTask,
        ClinicalSummarizationTask,
        CommunicationTask,
    )
}


def _check_lengths(references: Sequence[Record], outputs: Sequence[Record]) -> None:
    if len(references) != len(outputs) or not references:
        raise ValueError(f"{len(outputs)} model outputs for {len(references)} references")


def _check_mappings(outputs: Sequence[Record]) -> None:
    for index, output in enumerate(outputs):
        if not isinstance(output, Mapping):
            raise ValueError(f"model_outputs[{index}] is a {type(output).__name__}, not a mapping")


def _are_rows(rows: Any) -> bool:
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, Mapping) for row in rows)


def _is_blank(inputs: Any) -> bool:
    """Tell whether there is no input but placeholders: mappings of empty texts alone."""
    return isinstance(inputs, list) and all(
        isinstance(row, Mapping) and all(value == "" for value in row.values()) for row in inputs
    )


def _is_placeholder(fields: Mapping[str, Any]) -> bool:
    """Tell whether the inputs are left out or blank; an explicit empty list is neither."""
    return "inputs" not in fields or bool(fields["inputs"] and _is_blank(fields["inputs"]))


def _rows_of(path: Path) -> list[Row]:
    suffix = path.suffix.lower()
    if suffix not in (".json", ".csv"):
        raise ValueError(f"unsupported suffix {path.suffix!r}: use .json or .csv")
    text = read_text(path)
    rows = json.loads(text) if suffix == ".json" else _nested_cells(rows_from_csv(text))
    if not isinstance(rows, list) or not rows:
        raise ValueError("not a list of rows" if not isinstance(rows, list) else "no rows")
    return rows


def _nested_cells(rows: list[Row]) -> list[Row]:
    for index, row in enumerate(rows):
        for side in ("input", "output"):
            if side not in row:
                continue
            try:
                row[side] = json.loads(row[side]) if row[side] else None
            except json.JSONDecodeError as error:
                raise ValueError(f"row {index}: {side} is not JSON: {error}") from None
    return rows
