"""Default schemas of the task types, and checks of records and data sets against schemas."""

from __future__ import annotations

from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import DEFAULT_SCHEMAS as DEFAULT_SCHEMAS
from medeval.models.schemas import ensure_task_schemas as ensure_task_schemas
from medeval.models.schemas import validate_record_against_schema as validate_record_against_schema
from medeval.models.schemas import validate_rows


def validate_task_dataset(task: MedicalTask) -> None:
    """Check that every row of a task's data set can be run under its schemas or the defaults.

    A nested row needs an input with the input keys, and where it has an output, one with the
    output keys; a flat row needs the input keys.

    Raises:
        ValueError: naming the first row that fails and the keys that it lacks.
    """
    validate_rows(task.dataset, *task.schemas())
