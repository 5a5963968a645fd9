"""A medical task: what a model is asked, what is expected, and how the answers are measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import not_
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import to_jsonable_python

from medeval.files import toml_beside
from medeval.json_reader import fold_key
from medeval.models import schemas, text_files
from medeval.models.documents import IF_GIVEN, Document, Identifier
from medeval.models.schemas import TASK_TYPES, Pairs, Row, Schema, TaskType, task_type_of
from medeval.text import sha256_of

__all__ = ["MedicalTask", "TaskType"]

# These give the answer away, whether or not an output schema names them.
_GOLD_KEYS = toml_beside(__file__, "data/gold_keys.toml")["gold_keys"]

# What decides, beside the rows, what a model is asked and what counts as right.
_DECISIVE = {
    *("task_type", "description", "input_schema", "output_schema", "prompt", "system_prompt"),
}

DataClass = Literal["open", "credentialed"]


def _checked_schema(schema: Schema) -> Schema:
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(key, str) for key in required):
        raise ValueError("`required` must be a list of key names")
    return schema


def _metric_name(metric: Any) -> Any:
    if isinstance(metric, Mapping) and "name" not in metric:
        raise ValueError("a map that lacks a `name`")
    return metric["name"] if isinstance(metric, Mapping) else metric


def _each_once(metrics: list[str]) -> list[str]:
    if twice := sorted({metric for metric in metrics if metrics.count(metric) > 1}):
        raise ValueError(f"listed more than once: {twice}")
    return metrics


TaskSchema = Annotated[Schema, AfterValidator(_checked_schema)]
MetricName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), BeforeValidator(_metric_name)
]


class MedicalTask(Document, extra="allow"):
    """A task with its inputs, expected outputs, metrics, schemas and data set.

    The rules hold at construction and when a file is read. Assigning to a field afterwards checks
    nothing; `validate` does. Fields that a file has beyond these are kept, see `extra`, and written
    again. Empty `inputs` are left out of what is written: a task without them is one whose rows are
    all in `dataset`, and an explicit empty list is an error.

    Attributes:
        task_id: the name by which tasks are found and scored.
        name: a title for readers.
        task_type: what kind of task it is.
        description: what is asked, in a sentence.
        inputs: what a model is shown, one mapping an item.
        expected_outputs: what is expected for each input; empty, or as many as inputs.
        metrics: names of the metrics, each once.
        input_schema: what an input must hold.
        output_schema: what an expected output must hold.
        dataset: rows, nested (`input` and `output`) or flat.
        data_class: whether the rows may leave the house; what a file does not call open is not.
        prompt: the text of the question, with keys of the input in braces; empty for the usual.
        system_prompt: what the model is told before; None for the usual, empty for nothing.
        few_shot: rows that are shown with their answers before the question.
    """

    task_id: Identifier
    name: str | None = None
    task_type: Annotated[
        TaskType | Literal["multiple_choice"],
        PlainValidator(task_type_of, json_schema_input_type=Literal[TASK_TYPES]),
        PlainSerializer(str, return_type=str, when_used="json"),
    ]
    description: str = ""
    inputs: list[Row] = Field(default_factory=list, exclude_if=not_)
    expected_outputs: list[Row] = Field(default_factory=list)
    metrics: Annotated[list[MetricName], AfterValidator(_each_once)] = Field(default_factory=list)
    input_schema: TaskSchema = Field(default_factory=dict)
    output_schema: TaskSchema = Field(default_factory=dict)
    dataset: list[Row] = Field(default_factory=list)
    data_class: DataClass = "credentialed"
    prompt: str = Field(default="", exclude_if=not_)
    system_prompt: Annotated[str | None, IF_GIVEN] = None
    few_shot: list[Row] = Field(default_factory=list, exclude_if=not_)
    _kept: Pairs | None = PrivateAttr(None)

    @property
    def extra(self) -> dict[str, Any]:
        """All other fields of the file."""
        return self.model_extra or {}

    @property
    def target(self) -> str:
        """The key of outputs and expected outputs that holds the answer."""
        required = schemas.required_keys(self.output_schema)
        usual = schemas.usual_target(self.task_type)
        return usual if usual in required or not required else required[0]

    def schemas(self) -> tuple[Schema, Schema]:
        """Return the input and the output schema, the type's default for one that is empty."""
        return schemas.ensure_task_schemas(self.task_type, self.input_schema, self.output_schema)

    def answer_keys(self) -> Callable[[str], bool]:
        """Return what tells whether a key gives the answer away, so that no model may see it.

        That do the keys that the output schema names, the type's usual output and the usual names
        of gold, in whatever case, with hyphens or spaces; unless the input schema names the key as
        it stands.
        """
        shown, expected = map(schemas.named_keys, self.schemas())
        hidden = (*expected, schemas.usual_target(self.task_type), *_GOLD_KEYS)
        gold = {fold_key(str(key)) for key in hidden}

        @cache
        def gives_it_away(key: str) -> bool:
            return key not in shown and fold_key(str(key)) in gold

        return gives_it_away

    def without_answers(self, rows: Iterable[Mapping[str, Any]]) -> list[Row]:
        """Return inputs without the keys that give the answer away."""
        gives_it_away = self.answer_keys()
        return [
            {key: value for key, value in row.items() if not gives_it_away(key)} for row in rows
        ]

    def pairs(self) -> Pairs:
        """Return what a model is shown and what is expected of it, aligned.

        They come from the rows of `dataset` when it has any, else from `inputs` and
        `expected_outputs`; without an expected output an item has an empty one. Keys that give the
        answer away are never shown.

        Raises:
            ValueError: a row cannot be split; naming it.
        """
        if self._kept is not None:
            return self._kept
        if self.dataset:
            return self._read("dataset", *self._split_rows(self.dataset))
        shown = self.without_answers(self.inputs)
        return self._read("inputs", shown, list(self.expected_outputs) or [{} for _ in shown])

    def keep_pairs(self, pairs: Pairs | None = None) -> None:
        """Split the rows once for all, or take `pairs` for them: nobody changes them any more."""
        self._kept = pairs or self.pairs()

    def examples(self) -> Pairs:
        """Return the inputs of `few_shot` and what is answered to them, aligned; see `pairs`."""
        return self._read("few_shot", *self._split_rows(self.few_shot))

    def _split_rows(self, rows: Sequence[Row]) -> Pairs:
        """Split rows into what a model is shown and what is expected of it, aligned.

        A nested row says itself which is which; of its input the keys that give the answer away are
        left out. In a flat row these are expected, and all else is shown. A row without an expected
        output gets an empty one.

        Raises:
            ValueError: a side of a nested row is not a mapping, or a flat row has a key that both
                schemas name.
        """
        expected: list[Row] = []
        both_name = set.intersection(*map(schemas.named_keys, self.schemas()))
        gives_it_away = self.answer_keys()
        for index, row in enumerate(rows):
            if schemas.is_nested(row):
                given, wanted = row.get("input"), row.get("output")
                for side, value in (("input", given), ("output", {} if wanted is None else wanted)):
                    if not isinstance(value, Mapping):
                        raise ValueError(f"dataset.{side}[{index}] is not a mapping")
                expected.append(dict(wanted or {}))
            elif both := sorted(row.keys() & both_name):
                raise ValueError(
                    f"dataset[{index}]: the input and the output schema both name {both}; write the"
                    " row as `input` and `output`"
                )
            else:
                expected.append({key: value for key, value in row.items() if gives_it_away(key)})
        return self.without_answers(row.get("input", row) for row in rows), expected

    def _read(self, label: str, shown: list[Row], expected: list[Row]) -> Pairs:
        """Return inputs and expected outputs in the form of the task's class."""
        return shown, expected

    def validate(self) -> None:  # type: ignore[override]
        """Check all rules again, and that every row has what the schemas or defaults require.

        Raises:
            pydantic.ValidationError: a field breaks a rule.
            ValueError: an input, an expected output or a row of the data set lacks a key.
        """
        fields = dict(self)
        if not self.inputs and self.dataset:
            del fields["inputs"]
        MedicalTask.model_validate(fields)
        shown, expected = self.schemas()
        schemas.validate_rows(self.dataset, shown, expected)
        faults = schemas.missing_keys(self.inputs, shown, "inputs")
        faults += schemas.missing_keys(self.expected_outputs, expected, "expected_outputs")
        if faults and not self.dataset:
            raise ValueError(faults[0])

    def dataset_to_csv(self) -> str:
        """Return the rows of the data set as CSV, under the union of their keys."""
        return text_files.rows_to_csv(self.dataset)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a file; its suffix names the format. Rows may stand in a file beside it.

        Raises:
            FileNotFoundError: there is no such file, or none with its rows.
            ValueError: another suffix, not UTF-8, or not the format.
            pydantic.ValidationError: naming each field that breaks a rule.
        """
        place, form = Path(path), text_files.format_of(Path(path))
        data = text_files.parse_mapping(text_files.read_text(place), form)
        return cls.model_validate(with_rows_of_files(data, place.parent))

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        """Take the names of metrics that are maps, and make missing rows an error of `inputs`."""
        if not isinstance(data, Mapping):
            return data
        fields = dict(data)
        if not fields.get("dataset"):
            fields.setdefault("inputs", [])
        metrics, details = fields.get("metrics"), {}
        for one in metrics if isinstance(metrics, list) else ():
            if isinstance(one, Mapping):
                named = str(one.get("name")).strip()
                details[named] = {key: one[key] for key in one if key != "name"}
        if any(details.values()):
            fields.setdefault("metric_details", details)
        return fields

    @field_validator("inputs")
    @classmethod
    def _some_inputs(cls, inputs: list[Row]) -> list[Row]:
        if not inputs:
            raise ValueError("must hold at least one item; without it, `dataset` must have rows")
        return inputs

    @field_validator("expected_outputs")
    @classmethod
    def _one_for_each_input(cls, expected: list[Row], info: ValidationInfo) -> list[Row]:
        inputs = info.data.get("inputs")
        if expected and inputs and len(expected) != len(inputs):
            raise ValueError(f"{len(expected)} expected outputs for {len(inputs)} inputs")
        return expected

    @field_validator("dataset")
    @classmethod
    def _nested_rows_are_complete(cls, dataset: list[Row], info: ValidationInfo) -> list[Row]:
        shown, expected = info.data.get("input_schema"), info.data.get("output_schema")
        schemas.validate_rows(dataset, shown, expected, sides_only=True)
        return dataset


def row_files(data: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Return the files in which a task file keeps its rows, by the key that names them."""
    named = {key: data.get(key) for key in ("dataset", "few_shot")}
    return {key: folder / name for key, name in named.items() if isinstance(name, str)}


def with_rows_of_files(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the fields of a task file with the rows of files in the place of their names.

    Args:
        data: the fields; `fields` among them says which column holds which key.
        folder: of the task file, in which the names are looked up.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no rows, or lacks a column; naming the file.
    """
    full, files = dict(data), row_files(data, folder)
    columns = full.get("fields")
    if columns is not None:
        if not files:
            raise ValueError("fields: it names columns of a file, and `dataset` names no file")
        if not isinstance(columns, Mapping) or not columns:
            raise ValueError("fields: a mapping of keys to columns of the file")
        del full["fields"]
    for key, path in files.items():
        if not path.is_file():
            raise FileNotFoundError(f"{key}: there is no file {path}")
        try:
            rows = text_files.read_rows(path)
            full[key] = text_files.mapped_rows(rows, columns) if columns else rows
        except ValueError as error:
            # What cannot be decoded says itself where it is.
            place = "" if str(error).startswith(str(path)) else f"{path}: "
            raise ValueError(f"{key}: {place}{error}") from None
    return full


def task_hash(task: MedicalTask) -> str:
    """Return the SHA-256 of all that decides what a model is asked and what counts as right.

    That is the type, the description, both schemas, the prompts and examples of one's own, and
    inputs with expected outputs in their order, however the file writes them. The title, the list
    of metrics and the extras are not part of it: a score of one metric stays what it is when
    another is added.

    Raises:
        ValueError: a row cannot be split into an input and an expected output, or holds what no
            file could.
    """
    # Assigning checks nothing: a field of another type counts as what it is.
    content = task.model_dump(include=_DECISIVE, warnings=False)
    content |= dict(zip(("inputs", "expected_outputs"), task.pairs(), strict=True))
    if task.few_shot:
        content["few_shot"] = task.examples()
    text = json.dumps(to_jsonable_python(content), sort_keys=True, separators=(",", ":"))
    return sha256_of(text)


def input_ids(inputs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the name of each input: its `id`, or without one its index, as text."""
    return [
        str(index) if (given := row.get("id")) is None else str(given)
        for index, row in enumerate(inputs)
    ]
