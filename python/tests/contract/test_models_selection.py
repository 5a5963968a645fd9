"""What is written of a task when only some of its fields are asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tables import table

from medeval.models.medical_task import MedicalTask
from medeval.models.task_types import MedicalQATask

FIELDS: dict[str, Any] = {
    "task_id": "t",
    "task_type": "qa",
    "inputs": [{"question": "q"}],
    "difficulty": "hard",
    "notes": {"a": 1, "b": [2]},
}


def selected(fields: Any) -> Any:
    """Return a list of names as the set that pydantic takes."""
    if isinstance(fields, dict):
        return {name: selected(inner) for name, inner in fields.items()}
    return set(fields) if isinstance(fields, list) else fields


@pytest.mark.parametrize("task", [MedicalTask(**FIELDS), MedicalQATask(**FIELDS)])
@pytest.mark.parametrize(("selection", "written", "left_out"), table("models_selection")["rows"])
def test_other_fields_are_selected_by_their_name(
    task: MedicalTask, selection: dict[str, Any], written: dict[str, Any], left_out: list[str]
) -> None:
    words = {name: selected(fields) for name, fields in selection.items()}
    found = task.to_dict(**words)
    if "include" in selection:
        assert found == written
    else:
        assert set(task.to_dict()) - set(found) == set(left_out)
        assert written.items() <= found.items()
    assert json.loads(task.to_json(**words)) == json.loads(json.dumps(found))
