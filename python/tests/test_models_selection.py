"""What is written of a task when only some of its fields are asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from medeval.models.medical_task import MedicalTask
from medeval.models.task_types import MedicalQATask

FIELDS: dict[str, Any] = {
    "task_id": "t",
    "task_type": "qa",
    "inputs": [{"question": "q"}],
    "difficulty": "hard",
    "notes": {"a": 1, "b": [2]},
}
TASKS = [MedicalTask(**FIELDS), MedicalQATask(**FIELDS)]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("include", "written"),
    [
        ({"difficulty"}, {"difficulty": "hard"}),
        ({"task_id", "difficulty"}, {"task_id": "t", "difficulty": "hard"}),
        ({"task_id"}, {"task_id": "t"}),
        ({"notes": {"a"}}, {"notes": {"a": 1}}),
        ({"notes": True, "task_id": True}, {"task_id": "t", "notes": {"a": 1, "b": [2]}}),
        ({"absent"}, {}),
        (set(), {}),
    ],
)
def test_other_fields_are_included_by_their_name(
    task: MedicalTask, include: Any, written: dict[str, Any]
) -> None:
    assert task.to_dict(include=include) == written
    assert json.loads(task.to_json(include=include)) == written


@pytest.mark.parametrize("task", TASKS)
def test_other_fields_are_excluded_by_their_name(task: MedicalTask) -> None:
    whole = task.to_dict()
    assert whole["difficulty"] == "hard"
    for exclude in ({"difficulty"}, {"difficulty": True}, {"difficulty", "task_id"}):
        left = {name: value for name, value in whole.items() if name not in exclude}
        assert task.to_dict(exclude=exclude) == left
        assert json.loads(task.to_json(exclude=exclude)) == json.loads(json.dumps(left))
    assert task.to_dict(exclude={"notes": {"b"}})["notes"] == {"a": 1}
    assert task.to_dict(include={"difficulty", "notes"}, exclude={"notes"}) == {
        "difficulty": "hard"
    }
