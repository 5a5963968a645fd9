"""What the rows of a task must hold: required keys by task type, nested and flat rows.

A schema is a mapping whose `required` lists key names; its other keys are kept and not used, but
for the names under `properties`, which say on which side a key of a flat row belongs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from enum import StrEnum
from functools import cache
from typing import Any

from medeval.json_reader import fold_key

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
# These give the answer away, whether or not an output schema names them.
_GOLD_KEY = re.compile(
    r"answer_index|confidence|correct_(?:answer|option)|differential_diagnosis|expected_(?:answer|output)"
    r"|explanation|gold(?:_answer|_label)?|ground_truth|label|rationale|reference_answer"
)


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


def answer_keys(
    task_type: TaskType | str, input_schema: Schema, output_schema: Schema
) -> Callable[[str], bool]:
    """Return what tells whether a key gives the answer away, so that no model may see it.

    That do the keys that the output schema names, the type's usual output and the usual names of
    gold, in whatever case, with hyphens or spaces; unless the input schema names the key as it
    stands.
    """
    gold = {fold_key(str(key)) for key in (*named_keys(output_schema), usual_target(task_type))}
    shown = named_keys(input_schema)

    @cache
    def gives_it_away(key: str) -> bool:
        folded = fold_key(str(key))
        return key not in shown and (folded in gold or _GOLD_KEY.fullmatch(folded) is not None)

    return gives_it_away


def split_rows(
    rows: Sequence[Mapping[str, Any]],
    task_type: TaskType | str,
    input_schema: Schema,
    output_schema: Schema,
) -> tuple[list[Row], list[Row]]:
    """Split rows into what a model is shown and what is expected of it, aligned.

    A nested row says itself which is which; of its input the keys that give the answer away are
    left out. In a flat row these are expected, and all else is shown. A row without an expected
    output gets an empty one.

    Raises:
        ValueError: a side of a nested row is not a mapping, or a flat row has a key that both
            schemas name.
    """
    inputs: list[Row] = []
    expected: list[Row] = []
    both_name = named_keys(input_schema) & named_keys(output_schema)
    gives_it_away = answer_keys(task_type, input_schema, output_schema)
    given: Any
    for index, row in enumerate(rows):
        if is_nested(row):
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
            given = row
            expected.append({key: value for key, value in row.items() if gives_it_away(key)})
        inputs.append({key: value for key, value in given.items() if not gives_it_away(key)})
    return inputs, expected


def named_keys(schema: Mapping[str, Any]) -> set[str]:
    """Return the keys that a schema requires or describes."""
    properties = schema.get("properties")
    return set(required_keys(schema)) | set(properties if isinstance(properties, Mapping) else ())
