"""What the rows of a task must hold: required keys by task type, nested and flat rows, options.

A schema is a mapping whose `required` lists key names; its other keys are kept and not used, but
for the names under `properties`, which say on which side a key of a flat row belongs. Options of a
question, and the letters of the right ones, are read however a file writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from enum import StrEnum
from string import ascii_uppercase
from typing import Any

from medeval.files import toml_beside

Row = dict[str, Any]
Schema = dict[str, Any]
# What a model is shown, and what is expected of it, aligned.
Pairs = tuple[list[Row], list[Row]]


class TaskType(StrEnum):
    """The documented kinds of medical tasks; a member equals its text."""

    DIAGNOSTIC_REASONING = "diagnostic_reasoning"
    QA = "qa"
    SUMMARIZATION = "summarization"
    COMMUNICATION = "communication"


# A kind of this package beside the documented four.
MULTIPLE_CHOICE = "multiple_choice"
TASK_TYPES: tuple[TaskType | str, ...] = (*TaskType, MULTIPLE_CHOICE)
# What each type knows, and its input and its output side.
TYPES = toml_beside(__file__, "data/task_types.toml")
_SCHEMAS: Mapping[str, tuple[Schema, Schema]] = {
    kind: ({"required": told["usual_input"]}, {"required": [told["own_output"]]})
    for kind, told in TYPES.items()
}
DEFAULT_SCHEMAS = {kind: _SCHEMAS[kind] for kind in TaskType}


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


LETTERS = ascii_uppercase

# "A. Fever", "(B) Cough": a letter of the file's own before the text.
_LABELLED = re.compile(r"\(?([A-Z])[).:\uff1a\u3001\uff0e]\s*(?=\S)")
_BETWEEN_ANSWERS = re.compile(r"[\s,;/&，；、]+(?:and\s+)?")


def options_of(given: Any) -> tuple[list[str], list[str]]:
    """Return the texts of the options, and what a file may call each of them by.

    Args:
        given: a list of texts, which are called by the letters from A on, or a mapping of names to
            texts. Empty ones at the end are left out: a table has a column for each. Running
            letters before the texts ("A. Fever") are taken off.

    Raises:
        ValueError: these are no options, or fewer than two, more than 26, empty or alike.
    """
    if isinstance(given, Mapping) and given.keys() == {"label", "text"}:
        # As ARC and CommonsenseQA are published: two lists side by side.
        given = dict(zip(given["label"], given["text"], strict=False))
    if not isinstance(given, Mapping | list | tuple):
        raise ValueError("options: write a list of texts, or a mapping of letters to texts")
    members = list(given.values() if isinstance(given, Mapping) else given)
    texts = ["" if one is None else str(one).strip() for one in members]
    while texts and not texts[-1]:
        texts.pop()
    if not 2 <= len(texts) <= len(LETTERS):
        raise ValueError(f"options: there are {len(texts)}; a question has 2 to {len(LETTERS)}")
    if not all(texts):
        raise ValueError(f"options: the one at {LETTERS[texts.index('')]} is empty")
    labels = [_LABELLED.match(text) for text in texts]
    if all(label and label[1] == letter for label, letter in zip(labels, LETTERS, strict=False)):
        texts = [_LABELLED.sub("", text, 1) for text in texts]
    if len({_folded(text) for text in texts}) < len(texts):
        raise ValueError("options: two of them are alike")
    names = list(map(str, given)) if isinstance(given, Mapping) else list(LETTERS)
    return texts, names[: len(texts)]


def letters_of(answer: Any, texts: Sequence[str], names: Sequence[str]) -> str:
    """Return the letters of the options that an answer names, in order: "C", or "A, C".

    Args:
        answer: the name or the text of an option; several in a list, or in one text such as
            "A, C", "A and C" or "AC".
        texts: of the options.
        names: what the file calls them by.

    Raises:
        ValueError: it names none, or one that there is not, or leaves open which.
    """
    known_texts, known_names = [*map(_folded, texts)], [*map(_folded, names)]

    def places(one: Any) -> list[int]:
        said = _folded(one)
        by_text = [place for place, text in enumerate(known_texts) if text == said]
        by_name = [place for place, name in enumerate(known_names) if name == said]
        if by_text and by_name and by_text != by_name:
            raise ValueError("answer: it is the name of one option and the text of another")
        if not by_text and (label := _LABELLED.match(text := str(one).strip())):
            by_label, rest = places(label[1]), places(text[label.end() :])
            return by_label if by_label == rest else []
        return by_text or by_name

    parts = answer if isinstance(answer, list | tuple) else [answer]
    if isinstance(answer, str) and not places(answer):
        is_run = re.fullmatch("[A-Z]+", answer.strip())
        parts = list(answer.strip()) if is_run else _BETWEEN_ANSWERS.split(answer.strip())
    found = [places(one) for one in parts]
    if not all(found) or not found:
        raise ValueError(
            "answer: it is none of the options; name the right ones by letter or by text"
            " (`answer_index` counts from 0)"
        )
    return ", ".join(LETTERS[place] for place in sorted({place for one in found for place in one}))


def letters_at(index: Any) -> list[str]:
    """Return the letters of places that are counted from 0, one or a list of them.

    Raises:
        ValueError: it is no such place.
    """
    given = index if isinstance(index, list | tuple) else [index]
    with suppress(ValueError, TypeError, IndexError):
        places = [int(one) for one in given if not isinstance(one, bool | float)]
        if len(places) == len(given) and min(places) >= 0:
            return [LETTERS[place] for place in places]
    raise ValueError("answer_index: write the place of the right option, counted from 0")


def _folded(value: Any) -> str:
    return " ".join(str(value).split()).casefold()
