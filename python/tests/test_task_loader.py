"""Task files: found by id, path and URL, completed, checked, and read again when they change."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tables import table

from medeval.evaluation.fetching import FetchRules
from medeval.evaluation.task_loader import TaskFileWarning, TaskLoader, bundled_tasks_dir
from medeval.evaluation.validators import validate_task_dataset
from medeval.models import MedicalTask, TaskType
from medeval.models.task_types import (
    TASK_CLASSES,
    ClinicalSummarizationTask,
    DiagnosticReasoningTask,
    MedicalQATask,
)
from medeval.models.yaml_text import write_yaml

TABLES = table("task_loader")

QUESTION = {"question": "What does BP stand for?"}
ANSWER = {"answer": "blood pressure"}
ROW = {"input": QUESTION, "output": ANSWER}
QA: dict[str, Any] = {"task_type": "qa", "dataset": [ROW]}
CUSTOM = """\
schema_version: 1
task_id: qa-custom
task_type: qa
description: A question of one's own.
inputs:
  - question: What is hypertension?
expected_outputs:
  - answer: high blood pressure
metrics: [accuracy]
input_schema:
  required: [question]
output_schema:
  required: [answer]
dataset:
  - input: {question: What is tachycardia}
    output: {answer: a fast heart rate}
"""
ON_LOOPBACK = FetchRules(allow_http=True, allow_private_hosts=True, timeout=10)


def written(folder: Path, file: str = "task.yaml", **fields: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file
    text = json.dumps(fields) if file.endswith("json") else write_yaml(fields)
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, **fields: Any) -> MedicalTask:
    return TaskLoader(folder).load_task(written(folder, **fields))


def refusal(folder: Path, **fields: Any) -> str:
    with pytest.raises(ValueError, match=r"task\.yaml: ") as caught:
        loaded(folder, **fields)
    return str(caught.value)


@pytest.mark.parametrize("name", ["t.yaml", "t.yml", "t.json"])
def test_a_task_is_found_by_id_and_by_path(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, **QA)
    loader = TaskLoader(tmp_path)
    task = loader.load_task("t")
    assert isinstance(task, MedicalQATask)
    assert (task.task_id, task.inputs, task.expected_outputs) == ("t", [QUESTION], [ANSWER])
    assert loader.load_task(path) is loader.load_task(str(path)) is task
    assert loader.discover_tasks() == {"t": path}
    # A byte order mark is no part of the text, and of files with one stem YAML comes first.
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert loader.load_task("t") == task
    written(tmp_path, "t.json", **QA)
    first = written(tmp_path, "t.yaml", **QA)
    assert TaskLoader(tmp_path).discover_tasks() == {"t": first}


def test_the_files_own_id_wins_and_is_an_id_to_load_by(tmp_path: Path) -> None:
    written(tmp_path, "file.yaml", **QA, task_id="own")
    written(tmp_path, "broken.yaml", task_type="none")
    loader = TaskLoader(tmp_path)
    assert loader.load_task("file").task_id == "own"
    assert loader.load_task("own") is loader.load_task("file")
    written(tmp_path, "second.yaml", **QA, task_id="own")
    with pytest.raises(ValueError, match=r"file\.yaml, second\.yaml"):
        TaskLoader(tmp_path).load_task("own")


def test_an_id_does_not_climb_out_of_the_folder(tmp_path: Path) -> None:
    written(tmp_path, "outside.yaml", **QA)
    loader = TaskLoader(tmp_path / "tasks")
    for ref in ("../outside", "sub/../../outside"):
        with pytest.raises(FileNotFoundError):
            loader.load_task(ref)
    assert loader.load_task(tmp_path / "outside.yaml").task_id == "outside"


def test_an_own_task_by_file_and_by_loader(tmp_path: Path) -> None:
    path = tmp_path / "custom.yaml"
    path.write_text(CUSTOM, encoding="utf-8")
    plain = MedicalTask.from_file(path)
    validate_task_dataset(plain)
    assert plain.task_id == "qa-custom"
    assert plain.inputs == [{"question": "What is hypertension?"}]
    task = TaskLoader().load_task(path)
    assert task.task_id == "qa-custom"
    assert task.inputs == [{"question": "What is tachycardia"}]
    assert task.expected_outputs == [{"answer": "a fast heart rate"}]


def test_rows_win_over_blank_inputs(tmp_path: Path) -> None:
    document = {"document": "Patient with HTN."}
    task = loaded(
        tmp_path,
        task_type="summarization",
        inputs=[{"document": ""}],
        expected_outputs=[{"summary": ""}],
        dataset=[{"input": document, "output": {"summary": "HTN."}}],
    )
    assert isinstance(task, ClinicalSummarizationTask)
    assert (task.inputs, task.expected_outputs) == ([document], [{"summary": "HTN."}])


@pytest.mark.parametrize("inputs", [{}, {"inputs": []}, {"inputs": None}])
def test_a_row_without_output_has_an_empty_one(tmp_path: Path, inputs: dict[str, Any]) -> None:
    task = loaded(tmp_path, task_type="qa", dataset=[ROW, {"input": QUESTION}], **inputs)
    assert (task.inputs, task.expected_outputs) == ([QUESTION] * 2, [ANSWER, {}])


def test_defaults_fill_empty_schemas_and_explicit_ones_win(tmp_path: Path) -> None:
    task = loaded(tmp_path, **QA)
    assert task.input_schema == {"required": ["question"]}
    assert task.output_schema == {"required": ["answer"]}
    own = {"required": ["stem"]}
    task = loaded(tmp_path, task_type="qa", input_schema=own, dataset=[{"input": {"stem": "q"}}])
    assert (task.input_schema, task.output_schema) == (own, {"required": ["answer"]})
    task = loaded(tmp_path, task_type="qa", inputs=[QUESTION], metrics=[])
    assert (task.input_schema, task.metrics) == ({"required": ["question"]}, [])


@pytest.mark.parametrize(
    ("row", "key"), [({"symptoms": ["fever", "cough"]}, "symptoms"), ({"case": "60M"}, "case")]
)
def test_a_diagnostic_task_without_a_schema_may_have_either_input(
    tmp_path: Path, row: dict[str, Any], key: str
) -> None:
    rows = [{"input": row, "output": {"diagnosis": "ACS"}}]
    task = loaded(tmp_path, task_type="diagnostic_reasoning", dataset=rows)
    assert isinstance(task, DiagnosticReasoningTask)
    assert (task.input_schema, task.inputs) == ({"required": [key]}, [row])
    assert task.evaluate([{"diagnosis": "acs"}])["diagnostic_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("fields", "message"),
    TABLES["what_is_no_task_is_refused_naming_the_file_and_the_field"],
)
def test_what_is_no_task_is_refused_naming_the_file_and_the_field(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    assert message in refusal(tmp_path, **{"task_type": "qa", **fields})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.yaml", "", "empty"),
        ("t.yaml", "- a\n", "a list"),
        ("t.yaml", "a: [\n", "not valid YAML: line"),
        ("t.json", "{", "not valid JSON: "),
        ("t.json", '"text"', "a str"),
        ("t.json", "[" * 100_000, "nested too deeply"),
        ("t.txt", "a: b", "unsupported format"),
    ],
)
def test_a_file_that_holds_no_mapping_is_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        TaskLoader().load_task(tmp_path / name)
    assert name in str(caught.value)


def test_without_a_type_a_task_is_a_question_task_with_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, dataset=[ROW])
    with pytest.warns(TaskFileWarning, match=r"task\.yaml: no task_type, read as qa"):
        assert TaskLoader().load_task(path).task_type == "qa"


def test_a_changed_file_is_read_again_and_only_then(tmp_path: Path) -> None:
    path = written(tmp_path, **QA, description="a")
    loader = TaskLoader(tmp_path)
    first = loader.load_task("task")
    assert loader.load_task("task") is first
    written(tmp_path, **QA, description="longer")
    second = loader.load_task("task")
    assert second.description == "longer"
    state = path.stat()
    written(tmp_path, **QA, description="equals")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert loader.load_task("task") is second
    assert loader.load_task("task", reload=True).description == "equals"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        loader.load_task("task")


def test_several_tasks_of_a_type(tmp_path: Path) -> None:
    written(tmp_path, "a.yaml", **QA)
    written(tmp_path, "b.json", **QA)
    loader = TaskLoader(tmp_path)
    tasks = loader.load_tasks(["b", "a"], task_type=TaskType.QA)
    assert {ref: task.task_id for ref, task in tasks.items()} == {"b": "b", "a": "a"}
    with pytest.raises(ValueError, match="a: a task of type qa, not summarization"):
        loader.load_tasks(["a"], "summarization")
    assert loader.load_tasks([]) == {}


def test_the_list_leaves_broken_files_out_with_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, "a.yaml", **QA, name="A", metrics=["accuracy"], difficulty="easy")
    written(tmp_path, "tasks.json", nothing=1)
    written(tmp_path / "deeper", "c.yaml", **QA)
    loader = TaskLoader(tmp_path)
    (entry,) = loader.list_available_tasks()
    assert entry == {
        "task_id": "a",
        "name": "A",
        "description": "",
        "metrics": ["accuracy"],
        "num_examples": 1,
        "file": str(path),
        "difficulty": "easy",
    }
    (tmp_path / "b.yaml").write_text("a: [", encoding="utf-8")
    with pytest.warns(TaskFileWarning, match=r"left out: .*b\.yaml"):
        assert [each["task_id"] for each in loader.list_available_tasks()] == ["a"]


def test_the_bundled_tasks_are_open_and_two_of_each_type() -> None:
    loader = TaskLoader(bundled_tasks_dir())
    tasks = loader.load_tasks(loader.discover_tasks())
    for task_type, task_class in TASK_CLASSES.items():
        assert sum(type(task) is task_class for task in tasks.values()) >= 2, task_type
    for name, task in tasks.items():
        assert (task.task_id, task.data_class) == (name, "open")
        task.validate()
        assert task.name != task.task_id
    assert "clinical_summarization_basic" in tasks
