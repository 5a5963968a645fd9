"""Answers that are kept: found again under everything that decides them, and under nothing less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness_runs import harness_for, questions, right_below
from medeval.evaluation.harness_cache import AnswerCache, cache_key

from medeval.evaluation.model_runner import ModelRunner
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.medical_task import MedicalTask, input_ids, task_hash
from medeval.models.task_types import MedicalQATask

COUNTING = """
import pathlib
LOG = pathlib.Path(__file__).with_name("calls.txt")
def predict(rows, {extra}):
    with LOG.open("a") as file:
        file.write(f"{{len(rows)}}\\n")
    return [{{"answer": "0"}} for _ in rows]
"""


class Counted:
    """A model from a file, and how many inputs it was asked about."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "model.py"
        self.write("scale=1")

    def write(self, extra: str) -> None:
        self.path.write_text(COUNTING.format(extra=extra), encoding="utf-8")

    @property
    def asked(self) -> int:
        log = self.folder / "calls.txt"
        return sum(map(int, log.read_text().split())) if log.exists() else 0

    def evaluate(self, task: MedicalTask, **options: Any) -> BenchmarkReport:
        given = {"path": str(self.path), **options}
        model_id = given.pop("model_id", "counted")
        with harness_for(self.folder, task, cache_dir=self.folder / "cache") as harness:
            return harness.evaluate(model_id, [task.task_id], "local", **given)


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    return Counted(tmp_path)


def test_the_same_is_not_asked_again(counted: Counted) -> None:
    first = counted.evaluate(questions(4))
    again = counted.evaluate(questions(4))
    assert counted.asked == 4
    assert [one.detailed_results[0].metadata["from_cache"] for one in (first, again)] == [
        False,
        True,
    ]
    assert again.task_scores == first.task_scores
    counted.evaluate(questions(4), use_cache=False)
    assert counted.asked == 8


def test_another_batch_size_or_metric_asks_nothing_new(counted: Counted) -> None:
    counted.evaluate(questions(4))
    report = counted.evaluate(questions(4, metrics=["f1"]), batch_size=1)
    assert counted.asked == 4
    assert set(report.task_scores["questions"]) == {"f1"}


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Answer in words."},
        {"dataset": [{"input": {"question": "What is 9?"}, "output": {"answer": "9"}}] * 4},
        {"output_schema": {"required": ["answer"], "properties": {"unit": {}}}},
    ],
)
def test_a_task_with_other_content_is_asked_anew(change: dict[str, Any], counted: Counted) -> None:
    counted.evaluate(questions(4))
    counted.evaluate(questions(4, **change))
    assert counted.asked == 8


def test_another_model_name_or_parameter_is_asked_anew(counted: Counted) -> None:
    counted.evaluate(questions(4))
    counted.evaluate(questions(4), model_id="other")
    counted.evaluate(questions(4), callable="predict", per_item=False)
    assert counted.asked == 12


def test_an_edited_model_file_is_asked_anew(counted: Counted) -> None:
    counted.evaluate(questions(4))
    counted.write("scale=2")
    counted.evaluate(questions(4))
    assert counted.asked == 8


def test_a_key_is_of_model_prompt_and_task() -> None:
    model = {"id": "m", "parameters": {"seed": 0}}
    keys = {
        cache_key(model, "1", "a"),
        cache_key(model, "2", "a"),
        cache_key(model, "1", "b"),
        cache_key({**model, "parameters": {"seed": 1}}, "1", "a"),
        cache_key({**model, "id": "n"}, "1", "a"),
    }
    assert len(keys) == 5
    assert cache_key({"parameters": {"seed": 0}, "id": "m"}, "1", "a") in keys


def test_answers_with_a_failed_item_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    code = """
def predict(row):
    return {"answer": "0"} if row["question"].endswith("0?") else None
"""
    path.write_text(code, encoding="utf-8")
    with harness_for(tmp_path, questions(2), cache_dir=tmp_path / "cache") as harness:
        report = harness.evaluate("m", ["questions"], "local", path=str(path), per_item=True)
    assert report.metadata["outcomes"]["errored"] == 1
    assert not (tmp_path / "cache").exists()


def test_objects_of_the_program_are_not_told_apart_and_so_not_kept(tmp_path: Path) -> None:
    for limit in (0, 4):
        with harness_for(tmp_path, questions(4), cache_dir=tmp_path / "cache") as harness:
            model = right_below(limit)
            report = harness.evaluate("m", ["questions"], "interface", model=model)
        assert report.overall_scores["accuracy"] == limit / 4
    runner = ModelRunner()
    runner.load_model("before", "interface", model=right_below(4))
    harness = harness_for(tmp_path, questions(4), cache_dir=tmp_path / "cache", runner=runner)
    harness.evaluate("before", ["questions"])
    assert not (tmp_path / "cache").exists()


def test_a_damaged_file_is_asked_anew(counted: Counted) -> None:
    counted.evaluate(questions(4))
    (file,) = (counted.folder / "cache").iterdir()
    for content in ("{", '{"key": 1, "outputs": []}', "[]", '{"outputs": 5}'):
        file.write_text(content, encoding="utf-8")
        counted.evaluate(questions(4))
    assert counted.asked == 4 + 4 * 4


def test_the_cache_holds_answers_alone_and_is_for_its_owner_only(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "cache")
    cache.write("k", [{"answer": "x"}])
    (file,) = (tmp_path / "cache").iterdir()
    assert json.loads(file.read_text()) == {"key": "k", "outputs": [{"answer": "x"}]}
    assert file.stat().st_mode & 0o077 == 0
    assert cache.read("k", 1) == [{"answer": "x"}]
    assert cache.read("k", 2) is None
    assert cache.read("other", 1) is None


def test_the_hash_is_of_the_content_not_of_the_way_it_is_written() -> None:
    nested = MedicalQATask("a", dataset=[{"input": {"question": "q"}, "output": {"answer": "x"}}])
    flat = MedicalQATask("b", name="B", dataset=[{"question": "q", "answer": "x"}], metrics=["f1"])
    pairs = MedicalQATask("c", inputs=[{"question": "q"}], expected_outputs=[{"answer": "x"}])
    assert task_hash(nested) == task_hash(flat) == task_hash(pairs)
    assert task_hash(MedicalTask.from_json(nested.to_json())) == task_hash(nested)


@pytest.mark.parametrize("field", ["input", "output"])
def test_the_hash_changes_with_any_row(field: str) -> None:
    rows = questions(3).dataset
    changed = [*rows[:2], {**rows[2], field: {**rows[2][field], "more": 1}}]
    hashes = {task_hash(questions(dataset=one)) for one in (rows, changed, rows[::-1], rows[:2])}
    assert len(hashes) == 4


def test_inputs_are_called_by_their_id_or_their_place() -> None:
    assert input_ids([{"id": "a"}, {"id": 7}, {}, {"id": None}]) == ["a", "7", "2", "3"]
