"""The fields of a task file as a task that can be run and scored."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from medeval.evaluation.validators import ensure_task_schemas, validate_task_dataset
from medeval.models.medical_task import MedicalTask, TaskType


class TaskFileWarning(UserWarning):
    """A task file that is read on an assumption, or not at all."""


def task_class(task_type: TaskType) -> type[MedicalTask]:
    """Return the class whose `evaluate` scores the answers to tasks of a type."""
    from medeval.models.task_types import TASK_CLASSES

    return TASK_CLASSES[task_type]


def build_task(data: Mapping[str, Any], fallback_id: str, place: str) -> MedicalTask:
    """Make a task from the fields of a file.

    Defaults fill empty schemas. When the data set has rows, they are the inputs and expected
    outputs, whatever stood there: a file may hold blanks in that place.

    Args:
        data: the fields.
        fallback_id: the id of a task whose file gives none.
        place: where the fields stand, for messages.

    Raises:
        ValueError: a field breaks a rule or a row cannot be run; naming the place and the field.
    """
    fields = dict(data)
    if fields.get("task_id") is None:
        fields["task_id"] = fallback_id
    if "task_type" not in fields:
        warnings.warn(f"{place}: no task_type, read as qa", TaskFileWarning, stacklevel=2)
        fields["task_type"] = TaskType.QA.value
    if fields.get("dataset") and not fields.get("inputs"):
        fields.pop("inputs", None)
    try:
        return _runnable(fields)
    except ValidationError as error:
        raise ValueError(f"{place}: {described(error)}") from None
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def described(error: ValidationError) -> str:
    """Say which fields break which rules; never what stands in them."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the task'}: {each['msg']}" for each in found
    )


def _runnable(data: Mapping[str, Any]) -> MedicalTask:
    """Return the task in its class, with schemas, and with the rows of its data set as inputs."""
    # The rows are left to the class, which knows other names of the input: `case` for `symptoms`,
    # `text` for `document`. A row without keys stands in for them.
    rows = {"dataset": data["dataset"]} if data.get("dataset") else {}
    task = MedicalTask.model_validate({**data, **({"dataset": [{}]} if rows else {})})
    fields = {name: getattr(task, name) for name in MedicalTask.model_fields} | rows
    if not task.inputs:
        del fields["inputs"]
    shown, expected = ensure_task_schemas(task.task_type, task.input_schema, task.output_schema)
    fields["output_schema"] = expected
    for schema in () if task.input_schema else (shown, {}):
        with suppress(ValueError):
            candidate = _in_class(task.task_type, {**fields, "input_schema": schema})
            if _fits(candidate):
                return candidate
    return _in_class(task.task_type, {**fields, "input_schema": shown})


def _in_class(task_type: TaskType, fields: Mapping[str, Any]) -> MedicalTask:
    task = task_class(task_type).model_validate(fields)
    validate_task_dataset(task)
    if not task.dataset:
        return task
    task.inputs, outputs = task.pairs()
    given = fields["expected_outputs"]
    if not any(outputs):
        outputs = given if len(given) == len(task.inputs) else []
    task.expected_outputs = outputs
    return task


def _fits(task: MedicalTask) -> bool:
    try:
        task.validate()
    except ValueError:
        return False
    return True
