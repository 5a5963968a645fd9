"""Task files: found, completed, checked, read again when they change; listed and registered."""

from __future__ import annotations

import json
import re
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas
import pytest
from tables import refused, table

from medeval.evaluation.task_loader import TaskFileWarning, TaskLoader, bundled_tasks_dir
from medeval.evaluation.task_registry import TaskRegistry
from medeval.evaluation.validators import validate_task_dataset
from medeval.models import MedicalTask, TaskType
from medeval.models.task_types import TASK_CLASSES

Row = dict[str, Any]

TABLES = table("task_loader")

ROW = {"input": {"question": "What does BP stand for?"}, "output": {"answer": "blood pressure"}}
QA: Row = {"task_type": "qa", "dataset": [ROW]}


def written(folder: Path, file: str = "task.yaml", **fields: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file
    path.write_text(json.dumps(fields), encoding="utf-8")  # JSON is YAML too
    return path


@pytest.mark.parametrize(("fields", "expected"), TABLES["files"])
def test_a_file_is_completed_or_refused(tmp_path: Path, fields: Row, expected: Any) -> None:
    path = written(tmp_path, **fields)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=r"task\.yaml: .*" + re.escape(expected)):
            TaskLoader(tmp_path).load_task(path)
        return
    told = expected.pop("warning", "")
    with pytest.warns(TaskFileWarning, match=told) if told else nullcontext():
        task = TaskLoader(tmp_path).load_task("task")
    assert type(task) is TASK_CLASSES[task.task_type]
    assert {name: getattr(task, name) for name in expected} == expected
    if "task_id" in fields:  # The file by itself is as it stands, and can be used.
        plain = MedicalTask.from_file(path)
        assert plain.inputs == fields["inputs"]
        validate_task_dataset(plain)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [*TABLES["unreadable"], ("t.json", "[" * 100_000, "nested too deep")],
)
def test_a_file_of_no_mapping_is_told(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    caught = refused(message, TaskLoader().load_task, tmp_path / name, error=ValueError)
    assert name in caught


@pytest.mark.parametrize("name", ["t.yaml", "t.yml", "t.json"])
def test_a_task_is_found_by_id_and_by_path(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, **QA)
    loader = TaskLoader(tmp_path)
    task = loader.load_task("t")
    assert loader.load_task(path) is loader.load_task(str(path)) is task
    assert loader.discover_tasks() == {"t": path}
    # A byte order mark is no part of the text, and of files with one stem YAML comes first.
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert loader.load_task("t") == task
    written(tmp_path, "t.json", **QA)
    first = written(tmp_path, "t.yaml", **QA)
    assert TaskLoader(tmp_path).discover_tasks() == {"t": first}
    path.write_bytes(b"task_id: \xe9")
    refused("not UTF-8", TaskLoader(tmp_path).load_task, path, error=ValueError)


def test_the_files_own_id_wins_and_leads_out_of_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    written(folder, "file.yaml", **QA, task_id="own")
    written(folder, "broken.yaml", task_type="none")
    written(tmp_path, "outside.yaml", **QA)
    loader = TaskLoader(folder)
    assert loader.load_task("own") is loader.load_task("file")
    for ref in ("../outside", "sub/../../outside"):
        refused("", loader.load_task, ref, error=FileNotFoundError)
    assert loader.load_task(tmp_path / "outside.yaml").task_id == "outside"
    written(folder, "second.yaml", **QA, task_id="own")
    refused(r"file\.yaml, second\.yaml", TaskLoader(folder).load_task, "own", error=ValueError)


def test_the_list_leaves_broken_files_out_with_a_warning(tmp_path: Path) -> None:
    given = {"name": "A", "metrics": ["accuracy"], "difficulty": "easy"}
    path = written(tmp_path, "a.yaml", **QA, **given)
    written(tmp_path, "tasks.json", nothing=1)
    written(tmp_path / "deeper", "c.yaml", **QA)
    loader = TaskLoader(tmp_path)
    found = {"task_id": "a", "description": "", "num_examples": 1, "file": str(path)}
    assert loader.list_available_tasks() == [{**given, **found}]
    (tmp_path / "b.yaml").write_text("a: [", encoding="utf-8")
    registry = TaskRegistry(tmp_path)
    for listed in (loader.list_available_tasks, registry.list_available):
        with pytest.warns(TaskFileWarning, match=r"left out: .*b\.yaml"):
            assert len(listed()) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert registry.get("a").task_id == "a"
    tasks = loader.load_tasks(["a"], task_type=TaskType.QA)
    assert {ref: task.task_id for ref, task in tasks.items()} == {"a": "a"}
    with pytest.raises(ValueError, match="a: a task of type qa, not summarization"):
        loader.load_tasks(["a"], "summarization")


def test_the_bundled_tasks_are_open_and_two_of_each_type() -> None:
    loader = TaskLoader(bundled_tasks_dir())
    tasks = loader.load_tasks(loader.discover_tasks())
    for task_type in TaskType:
        task_class = TASK_CLASSES[task_type]
        assert sum(type(task) is task_class for task in tasks.values()) >= 2, task_type
    for name, task in tasks.items():
        assert (task.task_id, task.data_class) == (name, "open")
        task.validate()
        assert task.name != task.task_id
    # The documented example of a registry.
    registry = TaskRegistry(tasks_dir=bundled_tasks_dir())
    assert registry.discover() == loader.discover_tasks()
    rows = registry.list_available(task_type=TaskType.QA, min_examples=1, has_metrics=True)
    first = registry.get(rows[0].task_id)
    assert first.task_type is TaskType.QA
    assert first.evaluate(first.expected_outputs) == {  # type: ignore[attr-defined]
        "accuracy": 1.0,
        "clinical_correctness": 1.0,
    }


QUIZ: Row = TABLES["of_rows"]
COLUMNS: list[Row] = TABLES["quiz"]["columns"]


@pytest.mark.parametrize("name", ["q.json", "q.jsonl", "q.csv", "q.parquet"])
def test_rows_of_a_file_are_those_of_the_task(tmp_path: Path, name: str) -> None:
    rows = tmp_path / name
    pandas.DataFrame(COLUMNS).to_parquet(rows) if name.endswith("parquet") else rows.write_text(
        {
            "q.json": json.dumps(COLUMNS),
            "q.jsonl": "\n".join(map(json.dumps, COLUMNS)) + "\n",
            "q.csv": pandas.DataFrame(COLUMNS).to_csv(index=False),
        }[name],
        encoding="utf-8",
    )
    path = written(tmp_path, **QUIZ, dataset=name, few_shot=[{**COLUMNS[0], "stem": "?"}])
    refused(r"few_shot\[0\]|missing required keys", TaskLoader().load_task, path, error=ValueError)
    path = written(tmp_path, **QUIZ, task_id="quiz", dataset=name)
    loader = TaskLoader()
    task = loader.load_task(path)
    assert task.pairs() == (TABLES["quiz"]["inputs"], TABLES["quiz"]["outputs"])
    assert MedicalTask.from_file(path).dataset[0]["question"] == "Which cures scurvy?"
    # It is read again when the file of its rows changes.
    assert loader.load_task(path) is task
    rows.write_text("[]" if name.endswith("json") else "", encoding="utf-8")
    refused(rf"task\.yaml: dataset: .*{name}: ", loader.load_task, path, error=ValueError)


def test_a_column_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps([{"stems": "q", "key": "A"}]), encoding="utf-8")
    fields = {"question": "stem", "answer": "key"}
    path = written(tmp_path, task_type="qa", dataset="q.json", fields=fields)
    with pytest.raises(ValueError, match=r"row 0 has no column 'stem'; the nearest is 'stems'"):
        TaskLoader().load_task(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    questions = {"metrics": ["accuracy"], "difficulty": "Hard", "name": "Questions"}
    written(tmp_path, "questions.yaml", **QA, **questions)
    summary = {"input": {"document": "x"}, "output": {"summary": "y"}}
    written(tmp_path, "summaries.yaml", task_type="summarization", dataset=[summary] * 3)
    return tmp_path


@pytest.mark.parametrize(("conditions", "expected"), TABLES["conditions"])
def test_conditions_all_hold(folder: Path, conditions: Row, expected: list[str]) -> None:
    found = TaskRegistry(folder).list_available(**conditions)
    assert [row.task_id for row in found] == expected


def own(task_id: str, **fields: Any) -> MedicalTask:
    return MedicalTask(task_id=task_id, task_type="qa", inputs=[{"question": "q"}], **fields)


def test_a_registered_task_comes_before_a_file_of_its_id(folder: Path) -> None:
    registry = TaskRegistry(folder)
    from_file = registry.get("questions")
    assert from_file.name == "Questions"
    task = own("questions")
    registry.register(task)
    assert registry.get("questions") is task
    registry.unregister("questions")
    assert registry.get("questions") is from_file
    registry.unregister("unknown")
    refused("there is no task 'unknown'", registry.get, "unknown", error=FileNotFoundError)
    registry.register(own("z"))
    registry.register(own("summaries", metrics=["rouge_l"]))
    shown = [tuple(vars(one).values())[:6] for one in registry.list_available()]
    assert shown == [
        ("z", None, "", [], 1, None),
        ("summaries", None, "", ["rouge_l"], 1, None),
        ("questions", "Questions", "", ["accuracy"], 1, str(folder / "questions.yaml")),
    ]


def test_an_id_is_registered_once_unless_it_is_to_be_replaced(folder: Path) -> None:
    registry = TaskRegistry(folder.parent / "elsewhere")
    path = folder / "questions.yaml"
    assert registry.register_from_file(str(path)).task_id == "questions"
    registry.register(own("own"))
    refused("'own' is registered", registry.register, own("own"), error=ValueError)
    refused("'own' is registered", registry.register_from_file, path, "own", error=ValueError)
    renamed = registry.register_from_file(path, task_id="own", replace=True)
    assert registry.get("own") is renamed
    assert (renamed.name, registry.get("questions").task_id) == ("Questions", "questions")
    refused("", registry.register_from_file, folder / "questions.json", error=FileNotFoundError)
    refused("blank", registry.register_from_file, path, task_id=" ", error=ValueError)
