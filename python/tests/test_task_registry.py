"""The registry: registered tasks before discovered ones, and the list with its conditions."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from tables import table
from test_task_loader import QA

from medeval.evaluation.task_loader import TaskFileWarning, bundled_tasks_dir
from medeval.evaluation.task_registry import TaskRegistry, TaskSummary
from medeval.models import MedicalTask, TaskType
from medeval.models.task_types import MedicalQATask
from medeval.models.yaml_text import write_yaml

TABLES = table("task_registry")

QUESTIONS = {**QA, "metrics": ["accuracy"], "difficulty": "Hard", "name": "Questions"}
SUMMARIES: dict[str, Any] = TABLES["SUMMARIES"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, fields in (("questions", QUESTIONS), ("summaries", SUMMARIES)):
        (tmp_path / f"{name}.yaml").write_text(write_yaml(fields), encoding="utf-8")
    return tmp_path


def ids(rows: list[TaskSummary]) -> list[str]:
    return [row.task_id for row in rows]


def task(task_id: str, **fields: Any) -> MedicalTask:
    given = {"task_type": "qa", "inputs": [{"question": "q"}], **fields}
    return MedicalTask(task_id=task_id, **given)


def test_a_registered_task_comes_before_a_file_of_its_id(folder: Path) -> None:
    registry = TaskRegistry(folder)
    from_file = registry.get("questions")
    assert from_file.name == "Questions"
    own = task("questions")
    registry.register(own)
    assert registry.get("questions") is own
    registry.unregister("questions")
    assert registry.get("questions") is from_file
    registry.unregister("unknown")
    with pytest.raises(FileNotFoundError, match="there is no task 'unknown'"):
        registry.get("unknown")


def test_an_id_is_registered_once_unless_it_is_to_be_replaced(folder: Path) -> None:
    registry = TaskRegistry(folder)
    registry.register(task("own"))
    for register in (registry.register, lambda each: registry.register(each, replace=False)):
        with pytest.raises(ValueError, match="'own' is registered"):
            register(task("own"))
    second = task("own", description="second")
    registry.register(second, replace=True)
    assert registry.get("own") is second
    with pytest.raises(ValueError, match="'own' is registered"):
        registry.register_from_file(folder / "questions.yaml", "own")
    registry.register_from_file(folder / "questions.yaml", "own", replace=True)
    assert registry.get("own").name == "Questions"


def test_a_task_of_a_file_is_registered_under_its_own_or_another_id(folder: Path) -> None:
    registry = TaskRegistry(folder.parent / "elsewhere")
    path = folder / "questions.yaml"
    assert registry.register_from_file(str(path)).task_id == "questions"
    renamed = registry.register_from_file(path, task_id="other")
    assert isinstance(renamed, MedicalQATask)
    assert registry.get("other") is renamed
    assert registry.get("questions").task_id == "questions"
    with pytest.raises(FileNotFoundError):
        registry.register_from_file(folder / "questions.json")
    with pytest.raises(ValueError, match="blank"):
        registry.register_from_file(path, task_id=" ")


def test_the_list_has_registered_tasks_first_and_each_id_once(folder: Path) -> None:
    registry = TaskRegistry(tasks_dir=folder)
    registry.register(task("z"))
    registry.register(task("summaries", metrics=["rouge_l"]))
    assert registry.list_available() == [
        TaskSummary("z", None, "", [], 0, None),
        TaskSummary("summaries", None, "", ["rouge_l"], 0, None),
        TaskSummary("questions", "Questions", "", ["accuracy"], 1, str(folder / "questions.yaml")),
    ]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    TABLES["conditions_all_hold"],
)
def test_conditions_all_hold(folder: Path, conditions: dict[str, Any], expected: list[str]) -> None:
    assert ids(TaskRegistry(folder).list_available(**conditions)) == expected


def test_a_broken_file_is_dropped_with_a_warning(folder: Path) -> None:
    (folder / "broken.yaml").write_text("task_type: triage\n", encoding="utf-8")
    registry = TaskRegistry(folder)
    with pytest.warns(TaskFileWarning, match=r"broken\.yaml"):
        assert ids(registry.list_available(task_type="qa")) == ["questions"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert registry.get("questions").task_id == "questions"


def test_example_of_a_registry() -> None:
    registry = TaskRegistry(tasks_dir=bundled_tasks_dir())
    assert "clinical_qa_basic" in registry.discover()
    rows = registry.list_available(task_type=TaskType.QA, min_examples=1, has_metrics=True)
    assert len(rows) >= 2
    first = registry.get(rows[0].task_id)
    assert first.task_type is TaskType.QA
    assert first.evaluate(first.expected_outputs) == {"accuracy": 1.0, "clinical_correctness": 1.0}
