"""The task classes: a medical task of each type with its usual keys, metrics and evaluation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import model_validator

from medeval.models import schemas
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import LETTERS, Pairs, Row, is_nested, letters_of
from medeval.models.text_files import read_rows

if TYPE_CHECKING:
    from medeval.metrics.metric import Sample
    from medeval.metrics.registry import MetricRegistry
    from medeval.models.scores import Interval
    from medeval.scoring.table import ScoreTable

Level = Literal["simple", "calculator", "proper"]
Record = Mapping[str, Any]


class EvaluatedTask(MedicalTask):
    """A task that knows how its outputs are scored.

    Made without rows, it holds one blank input and expected output, which give way to the rows of
    `dataset` as soon as it has some, also when `dataset` is assigned.

    Class attributes, which but for the first are in `data/task_types.toml` unless a class has its
    own:
        own_type: the task type.
        own_input: the key of the input.
        other_inputs: keys that an input has beside it.
        own_output: the key of the output, and of the answer that is scored.
        simple_metrics: the documented metric names, with the registered proxy behind each.
        calculator_metrics: those that have a richer function, with its name in `metrics.proxies`.
        aliases: other names of the input key, the first of which a row has is read.
    """

    own_type: ClassVar[TaskType | str]
    own_input: ClassVar[str]
    other_inputs: ClassVar[Sequence[str]] = ()
    own_output: ClassVar[str]
    simple_metrics: ClassVar[Mapping[str, str]]
    calculator_metrics: ClassVar[Mapping[str, str]]
    aliases: ClassVar[Sequence[str]]

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        for name, value in schemas.TYPES[cls.own_type].items():
            if not hasattr(cls, name):
                setattr(cls, name, value)

    def __init__(self, *id_and_description: str, **fields: Any) -> None:
        """Take the task's id and, if wanted, its description, and any field by its name.

        The name defaults to the id; schemas and metrics default to those of the class.

        Raises:
            pydantic.ValidationError: naming each field that breaks a rule.
        """
        if len(id_and_description) > 2:
            raise TypeError("only task_id and description go without a name")
        named = zip(("task_id", "description"), id_and_description, strict=False)
        super().__init__(**fields | dict(named))

    def _read(self, label: str, shown: list[Row], expected: list[Row]) -> Pairs:
        """See `MedicalTask`; other names of the input key are read as that key."""
        return [self._renamed_row(row, self.input_schema) for row in shown], expected

    def load_data(self, path: str | Path) -> None:
        """Read the rows of the task: a JSON list or a CSV table, nested or flat.

        In a CSV table, cells under `input` and `output` are JSON mappings. Nothing changes unless
        all rows can be used.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: another suffix, or rows that cannot be used; naming file and row.
        """
        shown, expected = self.schemas()
        try:
            given = read_rows(Path(path), (".json", ".csv"))
            rows = [self._renamed_row(row, shown) for row in given]
            schemas.validate_rows(rows, shown, expected, need_gold=True)
            inputs, outputs = self._split_rows(rows)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        self.dataset, self.inputs, self.expected_outputs = rows, inputs, outputs

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
        from medeval.metrics import proxies
        from medeval.metrics.registry import default_registry
        from medeval.scoring.table import Ratio

        if level == "proper":
            columns = self.table(model_outputs).columns
            return {name: column.value() for name, column in columns.items()}
        if level not in ("simple", "calculator"):
            raise ValueError(f"unknown level {level!r}: use simple, calculator or proper")
        items = self._items(model_outputs, may_cut=level == "simple" and not strict)
        if level == "calculator":
            scores = {
                name: Ratio([*map(getattr(proxies, function), items)]).value()
                for name, function in self.calculator_metrics.items()
            }
            return {name: math.nan if one is None else one for name, one in scores.items()}
        find = default_registry().find
        # Without a pair a proxy is 0; what is none is undefined.
        return {
            name: find(proxy).column(items).value() if items or name == proxy else 0.0
            for name, proxy in self.simple_metrics.items()
        }

    def score(
        self, model_outputs: Sequence[Record], metrics: Sequence[str] | None = None
    ) -> dict[str, Interval]:
        """Return the value of each metric with its interval; see `table`."""
        return self.table(model_outputs, metrics).summary()

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
        names = (self.metrics if metrics is None else metrics) or self.simple_metrics
        found = {name: registry.find(name) for name in names}
        items = self._items(model_outputs)
        return ScoreTable({name: metric.column(items) for name, metric in found.items()})

    def _items(self, outputs: Sequence[Record], may_cut: bool = False) -> list[Sample]:
        """Return each output with its reference and input; `may_cut` leaves out what has none."""
        from medeval.metrics.metric import Sample

        inputs, expected = self.pairs()
        references = expected if self.dataset and any(expected) else self.expected_outputs
        if len(references) != len(outputs) or not references:
            differ = f"{len(outputs)} model outputs for {len(references)} references"
            if not may_cut:
                raise ValueError(differ)
            warnings.warn(f"{differ}; the surplus is ignored", UserWarning, stacklevel=3)
        for index, output in enumerate(outputs):
            if not isinstance(output, Mapping):
                kind = type(output).__name__
                raise ValueError(f"model_outputs[{index}] is a {kind}, not a mapping")
        if len(inputs) != len(references):
            # The blank input of a task made without rows, or references assigned by themselves.
            inputs = [{} for _ in references]
        return [
            Sample(source, reference, output, self.target)
            for source, reference, output in zip(inputs, references, outputs, strict=False)
        ]

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "dataset":
            self.__dict__.pop("several", None)
            # Assignment checks nothing: `validate` and `evaluate` name what is wrong.
            with suppress(ValueError, TypeError, AttributeError):
                self._take_rows()  # type: ignore[operator]  # pydantic leaves the function

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        """Fill in what the class knows, before the fields are checked."""
        if not isinstance(data, Mapping):
            return data
        fields = dict(data)
        if fields.setdefault("task_type", cls.own_type) != cls.own_type:
            raise ValueError(f"{cls.__name__} is for task_type {str(cls.own_type)!r}")
        if fields.get("name") is None:
            fields["name"] = fields.get("task_id")
        fields.setdefault("metrics", list(cls.simple_metrics))
        shown = fields["input_schema"] = fields.get("input_schema") or {
            "required": [cls.own_input, *cls.other_inputs]
        }
        fields["output_schema"] = fields.get("output_schema") or {"required": [cls.own_output]}
        if not fields.get("dataset") and "inputs" not in fields:
            fields["inputs"] = [{cls.own_input: ""}]
            fields.setdefault("expected_outputs", [{cls.own_output: ""}])
        for name in ("inputs", "dataset", "few_shot"):
            if isinstance(rows := fields.get(name), list):
                fields[name] = [cls._renamed_row(row, shown) for row in rows]
        return fields

    @model_validator(mode="after")
    def _take_rows(self) -> Self:
        """Let rows give the inputs that are left out or blank, and what is expected of them."""
        # No input but placeholders: mappings of empty texts alone.
        given = [value for row in self.inputs for value in row.values()]
        if self.dataset and not any(value != "" for value in given):
            self.inputs, expected = self.pairs()
            if any(expected) or not self.expected_outputs:
                self.expected_outputs = expected
        return self

    @classmethod
    def _renamed_row(cls, row: Any, schema: Any) -> Any:
        """Return a row, nested or flat, with the input under the class's own key.

        An input stays as it is where the schema asks for other keys.
        """
        if not isinstance(row, Mapping):
            return row
        if is_nested(row):
            given = row.get("input")
            is_input = isinstance(given, Mapping) and not is_nested(given)
            return {**row, "input": cls._renamed_row(given, schema)} if is_input else dict(row)
        record = dict(row)
        wanted = isinstance(schema, Mapping) and cls.own_input in (schema.get("required") or [])
        alias = next((alias for alias in cls.aliases if alias in record), None)
        if wanted and alias and cls.own_input not in record:
            value = record.pop(alias)
            if alias == "symptoms" and isinstance(value, (list, tuple)):
                value = "; ".join(map(str, value))
            if alias == "patient_message" and (context := record.pop("context", None)):
                value = f"{value}\n\nContext: {context}"
            record[cls.own_input] = value
        return record


class MedicalQATask(EvaluatedTask):
    """Questions with an answer each."""

    own_type: ClassVar[TaskType] = TaskType.QA


class DiagnosticReasoningTask(EvaluatedTask):
    """Cases with a diagnosis each; `symptoms`, text or list, are read as `case`."""

    own_type: ClassVar[TaskType] = TaskType.DIAGNOSTIC_REASONING


class ClinicalSummarizationTask(EvaluatedTask):
    """Documents with a summary each; `text` or `note` are read as `document`."""

    own_type: ClassVar[TaskType] = TaskType.SUMMARIZATION


class CommunicationTask(EvaluatedTask):
    """Messages with a response each; `patient_message`, and `context`, are read as `prompt`."""

    own_type: ClassVar[TaskType] = TaskType.COMMUNICATION


class MultipleChoiceTask(EvaluatedTask):
    """Questions with options, of which one or several are right.

    `pairs` gives the options as a list of texts and the right ones by their letters, "A, C".
    """

    own_type: ClassVar[TaskType | str] = schemas.MULTIPLE_CHOICE
    other_inputs: ClassVar[Sequence[str]] = ("options",)

    @cached_property
    def several(self) -> bool:
        """Whether some question has more than one right option."""
        return any("," in str(answer.get(self.target)) for answer in self.pairs()[1])

    def _read(self, label: str, shown: list[Row], expected: list[Row]) -> Pairs:
        """See `MedicalTask`; options become a list of texts, and answers letters.

        Raises:
            ValueError: a row's options or its answer cannot be meant; naming the row.
        """
        shown, expected = super()._read(label, shown, [dict(gold) for gold in expected])
        for index, (row, gold) in enumerate(zip(shown, expected, strict=True)):
            if not any(row.values()):
                continue  # the blank input of a task that was made without rows
            try:
                row["options"], names = schemas.options_of(row.get("options"))
                if self.target in gold:
                    gold[self.target] = letters_of(gold[self.target], row["options"], names)
            except ValueError as error:
                raise ValueError(f"{label}[{index}]: {error}") from None
        return shown, expected

    def _items(self, outputs: Sequence[Record], may_cut: bool = False) -> list[Sample]:
        """Return the items with answers by letter, also where a model names an option's text."""
        items = super()._items(outputs, may_cut)
        for place, item in enumerate(items):
            options = item.source.get("options", ())
            with suppress(ValueError):
                answer = letters_of(item.output.get(self.target), options, LETTERS[: len(options)])
                items[place] = replace(item, output={**item.output, self.target: answer})
        return items

    @classmethod
    def _renamed_row(cls, row: Any, schema: Any) -> Any:
        """Return a row with its answer by letter where it has one by `answer_index`."""
        row = super()._renamed_row(row, schema)
        gold = row.get("output") if isinstance(row, Mapping) and is_nested(row) else row
        if not isinstance(gold, Mapping) or "answer_index" not in gold or cls.own_output in gold:
            return row
        gold = {**gold, cls.own_output: schemas.letters_at(gold["answer_index"])}
        del gold["answer_index"]
        return {**row, "output": gold} if is_nested(row) else gold


TASK_CLASSES: Mapping[str, type[EvaluatedTask]] = {
    kind.own_type: kind for kind in EvaluatedTask.__subclasses__()
}
