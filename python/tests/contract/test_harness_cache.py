"""Answers that are kept: found again under everything that decides them, and under nothing less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness_runs import always, evaluate, harness_for, questions, right_below
from tables import refused, table

from medeval.evaluation.model_runner import ModelRunner
from medeval.models import BenchmarkReport
from medeval.models.medical_task import MedicalTask
from medeval.models.task_types import MedicalQATask

Row = dict[str, Any]

TABLES = table("harness")


class Counted:
    """A model from a file, and how many inputs it was asked about."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "counted_model.py"
        self.write("scale=1")

    def write(self, extra: str) -> None:
        self.path.write_text(TABLES["counting"].replace("$EXTRA", extra), encoding="utf-8")

    @property
    def asked(self) -> int:
        log = self.folder / "calls.txt"
        return sum(map(int, log.read_text().split())) if log.exists() else 0

    @property
    def journal(self) -> Path:
        (path,) = (self.folder / "cache").glob("answers-*/responses.jsonl")
        return path

    def evaluate(self, task: MedicalTask | None = None, **options: Any) -> BenchmarkReport:
        given = {"model_id": "counted", "model_type": "local", **options}
        if "model_path" not in given:
            given["path"] = str(self.path)
        task = task or questions(4)
        with harness_for(self.folder, task, cache_dir=self.folder / "cache") as harness:
            return harness.evaluate(task_ids=[task.task_id], **given)


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    return Counted(tmp_path)


def test_the_same_is_not_asked_again_unless_that_is_wanted(counted: Counted) -> None:
    reports = [counted.evaluate() for _ in range(2)]
    assert counted.asked == 4
    assert [one.detailed_results[0].metadata["from_cache"] for one in reports] == [False, True]
    assert reports[0].task_scores == reports[1].task_scores
    report = counted.evaluate(questions(4, metrics=["f1"]), batch_size=1)
    assert counted.asked == 4
    assert set(report.task_scores["questions"]) == {"f1"}
    counted.evaluate(use_cache=False)
    counted.evaluate()
    assert counted.asked == 8


@pytest.mark.parametrize(("task", "options"), TABLES["asked_anew"])
def test_another_task_or_model_is_asked_anew(task: Row, options: Row, counted: Counted) -> None:
    counted.evaluate()
    counted.evaluate(questions(4, **task), **options)
    assert counted.asked == 8


def test_an_edited_model_is_asked_anew(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    counted.evaluate()
    counted.write("scale=2")
    counted.evaluate()
    assert counted.asked == 8
    # So is a model whose weights, or whose module, have changed.
    monkeypatch.syspath_prepend(str(counted.folder))
    weights = counted.folder / "weights"
    weights.mkdir()
    imported = {"model_path": weights, "module_path": "counted_model"}
    for asked in (12, 12):
        counted.evaluate(**imported)
        assert counted.asked == asked
    (weights / "a.bin").write_bytes(b"1")
    counted.evaluate(**imported)
    counted.write("scale=3")
    counted.evaluate(**imported)
    assert counted.asked == 20


def test_a_batch_with_a_failed_item_is_asked_again_and_no_other(counted: Counted) -> None:
    broken = counted.folder / "broken"
    broken.touch()
    report = counted.evaluate(questions(6), batch_size=2)
    assert report.metadata["outcomes"]["errored"] == 1
    broken.unlink()
    report = counted.evaluate(questions(6), batch_size=4)
    assert counted.asked == 6 + 2
    assert report.metadata["outcomes"]["answered"] == 6


def test_an_evaluation_that_was_cut_off_goes_on_where_it_was(counted: Counted) -> None:
    counted.evaluate(questions(6), batch_size=2)
    first, second, _ = counted.journal.read_bytes().splitlines(keepends=True)
    counted.journal.write_bytes(first + second[:20])
    counted.evaluate(questions(6), batch_size=2)
    assert counted.asked == 6 + 4


def test_objects_of_the_program_are_not_told_apart_and_so_not_kept(tmp_path: Path) -> None:
    for limit in (0, 4):
        with harness_for(tmp_path, questions(4), cache_dir=tmp_path / "cache") as harness:
            model = right_below(limit)
            report = harness.evaluate("m", ["questions"], "interface", model=model)
        assert report.overall_scores["accuracy"] == limit / 4
    described = report.metadata["model"]["parameters"]["model"]
    assert described == "harness_runs.Model"
    runner = ModelRunner()
    runner.load_model("before", "interface", model=right_below(4))
    harness = harness_for(tmp_path, questions(4), cache_dir=tmp_path / "cache", runner=runner)
    harness.evaluate("before", ["questions"])
    assert not (tmp_path / "cache").exists()


def test_a_damaged_file_fails_the_task_and_says_what_to_do(counted: Counted) -> None:
    counted.evaluate()
    counted.journal.write_text("{}\n", encoding="utf-8")
    refused("line 1: not a line of a journal", counted.evaluate, strict_validation=True)
    assert counted.evaluate().metadata["failed_tasks"] == ["questions"]
    assert counted.asked == 4


def test_the_cache_holds_answers_alone_and_is_for_its_owner_only(counted: Counted) -> None:
    counted.evaluate()
    files = [path for path in (counted.folder / "cache").rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"run.json", "responses.jsonl"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert "What is" not in "".join(path.read_text(encoding="utf-8") for path in files)
    (line,) = map(json.loads, counted.journal.read_text(encoding="utf-8").splitlines())
    assert json.loads(line["text"]) == [{"answer": "0"}] * 4


def test_the_hash_is_of_the_content_not_of_the_way_it_is_written(tmp_path: Path) -> None:
    def about(task: MedicalTask) -> Row:
        report = evaluate(tmp_path, always({"answer": "0"}), [task], save_results=False)
        return report.detailed_results[0].metadata

    def task_hash(task: MedicalTask) -> str:
        return str(about(task)["task_hash"])

    nested = MedicalQATask("a", dataset=[{"input": {"question": "q"}, "output": {"answer": "x"}}])
    flat = MedicalQATask("b", name="B", dataset=[{"question": "q", "answer": "x"}], metrics=["f1"])
    pairs = MedicalQATask("c", inputs=[{"question": "q"}], expected_outputs=[{"answer": "x"}])
    assert task_hash(nested) == task_hash(flat) == task_hash(pairs)
    assert task_hash(MedicalTask.from_json(nested.to_json())) == task_hash(nested)
    rows = questions(3).dataset
    for field in ("input", "output"):
        changed = [*rows[:2], {**rows[2], field: {**rows[2][field], "more": 1}}]
        found = {task_hash(questions(dataset=one)) for one in (rows, changed, rows[::-1], rows[:2])}
        assert len(found) == 4
    named = [{"id": "a"}, {"id": 7}, {}, {"id": None}]
    inputs = [{"question": "q", **one} for one in named]
    numbered = MedicalQATask("d", inputs=inputs, expected_outputs=[{"answer": "x"}] * 4)
    assert about(numbered)["input_ids"] == ["a", "7", "2", "3"]
