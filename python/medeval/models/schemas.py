"""What the rows of a task must hold: required keys by task type, nested and flat rows.

A schema is a mapping whose `required` lists key names; its other keys are kept and not used, but
for the names under `properties`, which say on which side a key of a flat row belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from enum import StrEnum
from typing import Any

Row = dict[str, Any]
Schema = dict[str, Any]


class TaskType(StrEnum):
    """The documented kinds of medical tasks; a member equals its text."""

    DIAGNOSTIC_REASONING = "diagnostic_reasoning"
    QA = "qa"
    SUMMARIZATION = "summarization"
    COMMUNICATION = "communication"


# The input and the output side of each type.
DEFAULT_SCHEMAS: Mapping[TaskType, tuple[Schema, Schema]] = {
    TaskType.QA: ({"required": ["question"]}, {"required": ["answer"]}),
    TaskType.SUMMARIZATION: ({"required": ["document"]}, {"required": ["summary"]}),
    TaskType.DIAGNOSTIC_REASONING: ({"required": ["symptoms"]}, {"required": ["diagnosis"]}),
    TaskType.COMMUNICATION: ({"required": ["prompt"]}, {"required": ["response"]}),
}
# A kind of this package beside the documented four.
MULTIPLE_CHOICE = "multiple_choice"
TASK_TYPES: tuple[TaskType | str, ...] = (*TaskType, MULTIPLE_CHOICE)
_SCHEMAS: Mapping[str, tuple[Schema, Schema]] = {
    **{str(kind): schemas for kind, schemas in DEFAULT_SCHEMAS.items()},
    MULTIPLE_CHOICE: ({"required": ["question", "options"]}, {"required": ["answer"]}),
}


def task_type_of(value: object) -> TaskType | str:
    """Return the type of this name, exactly as it is written.

    Raises:
        ValueError: there is none.
    """
    if isinstance(value, str) and value in TASK_TYPES:
        return TASK_TYPES[TASK_TYPES.index(value)]
    named = ", ".join(repr(str(known)) for known in TASK_TYPES[:-1])
    raise ValueError(f"must be {named} or {MULTIPLE_CHOICE!r}")


def usual_target(task_type: TaskType | str) -> str:
    """Return the key of the output that tasks of a type have unless they say otherwise."""
    return required_keys(_SCHEMAS[task_type][1])[0]


def ensure_task_schemas(
    task_type: TaskType | str,
    input_schema: Mapping[str, Any] | None,
    output_schema: Mapping[str, Any] | None,
) -> tuple[Schema, Schema]:
    """Fill in the type's default for each side that is empty; an explicit schema always wins."""
    default_input, default_output = _SCHEMAS[task_type_of(task_type)]
    return deepcopy((dict(input_schema or default_input), dict(output_schema or default_output)))


def required_keys(schema: Mapping[str, Any] | None) -> list[str]:
    """Return the keys that a record of this schema must have."""
    return list((schema or {}).get("required") or [])


def missing_keys(
    rows: Iterable[Mapping[str, Any] | None], schema: Mapping[str, Any] | None, label: str
) -> list[str]:
    """Return which rows lack which required keys; null and empty text count as present.

    Args:
        rows: None among them stands for no row.
        schema: of each of them.
        label: what they are called.
    """
    required = required_keys(schema)
    lacking = [[] if row is None else [key for key in required if key not in row] for row in rows]
    return [
        f"{label}[{index}] missing required keys: {keys}"
        for index, keys in enumerate(lacking)
        if keys
    ]


def validate_record_against_schema(
    record: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
    label: str = "record",
    index: int | None = None,
) -> None:
    """Check that a record has the required keys; null and empty text count as present.

    Raises:
        ValueError: naming the label, the index and the missing keys.
    """
    for fault in missing_keys([record], schema, label):
        raise ValueError(fault.replace("[0]", "" if index is None else f"[{index}]", 1))


def is_nested(row: Mapping[str, Any]) -> bool:
    """Tell a row with `input` and `output` from a flat one."""
    return "input" in row or "output" in row


def validate_rows(
    rows: Iterable[Any],
    input_schema: Mapping[str, Any] | None,
    output_schema: Mapping[str, Any] | None,
    *,
    label: str = "dataset",
    sides_only: bool = False,
    need_gold: bool = False,
) -> None:
    """Check that every row can be run: an input with the required keys, flat or nested.

    Args:
        rows: of a data set.
        input_schema: what an input must have.
        output_schema: what an output must have.
        label: what they are called in messages.
        sides_only: look at the sides of nested rows that are there, and at nothing else.
        need_gold: a flat row needs the keys of the output, too.

    Raises:
        ValueError: naming the first row that cannot, and why.
    """
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(f"{label}[{index}] is not a mapping")
        for side, schema in (("input", input_schema), ("output", output_schema)):
            if isinstance(row.get(side), Mapping):
                validate_record_against_schema(row[side], schema, f"{label}.{side}", index)
        if sides_only:
            continue
        if not is_nested(row):
            for schema in (input_schema, output_schema)[: 1 + need_gold]:
                validate_record_against_schema(row, schema, label, index)
        elif not isinstance(row.get("input"), Mapping):
            raise ValueError(f"{label}.input[{index}] is not a mapping: the row cannot be run")


def named_keys(schema: Mapping[str, Any]) -> set[str]:
    """Return the keys that a schema requires or describes."""
    properties = schema.get("properties")
    return set(required_keys(schema)) | set(properties if isinstance(properties, Mapping) else ())
