"""What of a task its scores rest on: the hash of its content, and the names of its items."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from medeval.models.medical_task import MedicalTask


def task_hash(task: MedicalTask) -> str:
    """Return the SHA-256 of all that decides what a model is asked and what counts as right.

    That is the type, the description, both schemas, and inputs with expected outputs in their
    order, however the file writes them. The title, the list of metrics and the extras are not
    part of it: a score of one metric stays what it is when another is added.

    Raises:
        ValueError: a row cannot be split into an input and an expected output, or holds what no
            file could.
    """
    shown, expected = task.pairs()
    content = {
        "task_type": str(task.task_type),
        "description": task.description,
        "input_schema": task.input_schema,
        "output_schema": task.output_schema,
        "inputs": shown,
        "expected_outputs": expected,
    }
    values = to_jsonable_python(content)
    text = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def input_ids(inputs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the name of each input: its `id`, or without one its index, as text."""
    return [
        str(index) if (given := row.get("id")) is None else str(given)
        for index, row in enumerate(inputs)
    ]
