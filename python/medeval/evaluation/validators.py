"""Default schemas of the task types, and checks of records and data sets against schemas."""

from __future__ import annotations

from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import (
    DEFAULT_SCHEMAS,
    ensure_task_schemas,
    validate_record_against_schema,
    validate_rows,
)

__all__ = [
    "DEFAULT_SCHEMAS",
    "ensure_task_schemas",
    "validate_record_against_schema",
    "validate_task_dataset",
]


def validate_task_dataset(task: MedicalTask) -> None:
    """Check that every row of a task's data set can be run under its schemas or the defaults.

    A nested row needs an input with the input keys, and where it has an output, one with the
    output keys; a flat row needs the input keys.

    Raises:
        ValueError: naming the first row that fails and the keys that it lacks.
    """
    validate_rows(task.dataset, *task.schemas())
