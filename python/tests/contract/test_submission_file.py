"""Submission files: built from results, written, read, and held against the tasks."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from harness_runs import SECRET_TEXT, Model, always, evaluate, number_of, questions, right_below
from tables import refused, table

from medeval.models import BenchmarkReport, EvaluationResult
from medeval.models.task_types import MedicalQATask
from medeval.reporting.submission import build_submission, read_submission, write_submission

Fields = dict[str, Any]
TABLES = table("submission")


def test_a_submission_holds_every_item_that_was_asked(tmp_path: Path) -> None:
    known = {"answer": "0", "rationale": "known"}

    def answer(row: Fields) -> Any:
        return {0: known, 1: {}, 2: None}[number_of(row)]

    task = questions(3)
    report = evaluate(tmp_path, Model(answer), [task, MedicalQATask("blank")])
    submission = build_submission(report)
    content = json.loads(submission.to_json())
    its_hash = report.detailed_results[0].metadata["task_hash"]
    none = {"error": {"type": "NotAMapping", "attempts": 1}}
    items = [
        {"input_id": "0", "prediction": known, "reasoning": "known"},
        {"input_id": "1", "prediction": {"error": {"type": "empty"}}},
        {"input_id": "2", "prediction": none},
    ]
    assert content == {
        "schema_version": 1,
        "run_id": report.metadata["run_id"],
        "model_id": "tested",
        "created_at": content["created_at"],
        "submissions": [{"task_id": "questions", "task_hash": its_hash, "items": items}],
    }
    without = build_submission(report, include_reasoning=False)
    assert without.submissions[0].items[0].reasoning is None


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_file_is_read_as_it_was_written(suffix: str, tmp_path: Path) -> None:
    rows = [{"input": {"id": "a7", "question": "What is 0?"}, "output": {"answer": "0"}}]
    tasks = [questions(3), questions(1, "other", dataset=rows)]
    report = evaluate(tmp_path, right_below(1), tasks)
    submission = build_submission(report)
    assert submission.submissions[1].items[0].input_id == "a7"
    path = tmp_path / f"submission.{suffix}"
    write_submission(submission, path)
    assert read_submission(path) == submission
    assert path.stat().st_mode & 0o077 == 0
    refused(r"use json, yaml or yml", write_submission, submission, tmp_path / "submission.txt")
    # From a saved report it is the same.
    saved = tmp_path / "results" / f"{report.metadata['run_id']}.json"
    again = build_submission(BenchmarkReport.from_file(saved))
    assert again.submissions == submission.submissions


def test_predictions_score_as_the_outputs_did(tmp_path: Path) -> None:
    task = questions(4)
    report = evaluate(tmp_path, right_below(3), [task])
    submission = build_submission(report)
    submission.submissions[0].items.reverse()
    outputs = submission.outputs_for(task)
    assert outputs == report.detailed_results[0].model_outputs
    assert task.score(outputs)["accuracy"].value == report.overall_scores["accuracy"] == 0.75


@pytest.mark.parametrize(("output", "reasoning"), TABLES["reasoning"])
def test_reasoning_is_what_is_first(output: Fields, reasoning: str | None, tmp_path: Path) -> None:
    report = evaluate(tmp_path, always(output), [questions(1)])
    item = build_submission(report).submissions[0].items[0]
    assert (item.reasoning, item.prediction) == (reasoning, output)


def test_tasks_that_are_not_open_are_submitted_only_when_asked(tmp_path: Path) -> None:
    closed = questions(1, data_class="credentialed")
    report = evaluate(tmp_path, always({"answer": SECRET_TEXT}), [closed])
    caught = refused("'questions' is not open", build_submission, report)
    assert SECRET_TEXT not in caught
    assert SECRET_TEXT in build_submission(report, show_text=True).to_json()


@pytest.mark.parametrize(("count", "about", "said"), TABLES["no_submission"])
def test_what_cannot_be_submitted_is_an_error(count: int, about: Fields, said: str) -> None:
    report = BenchmarkReport(model_id="m")
    given = {"model_outputs": [{"answer": "x"}], "metadata": {"data_class": "open", **about}}
    for _ in range(count):
        report.add_evaluation_result(EvaluationResult(model_id="m", task_id="t", **given))
    refused(said, build_submission, report)


@pytest.mark.parametrize(("of_file", "of_item", "place"), TABLES["broken"])
def test_a_field_that_breaks_a_rule_is_named(
    of_file: Fields, of_item: Fields, place: str, tmp_path: Path
) -> None:
    content = copy.deepcopy(TABLES["file"])  # what another program adds is kept
    path = tmp_path / "submission.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert json.loads(read_submission(path).to_json()) == content
    content["submissions"][0]["items"][0].update(of_item)
    content = {name: value for name, value in (content | of_file).items() if value is not None}
    path.write_text(json.dumps(content), encoding="utf-8")
    caught = refused(r"submission\.json is no submission: ", read_submission, path)
    assert place in caught


def test_files_that_are_no_submission_are_named(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text("{", encoding="utf-8")
    (tmp_path / "list.yaml").write_text("- a", encoding="utf-8")
    for name in ("torn.json", "list.yaml", "absent.json"):
        said = "There is no submission file" if "absent" in name else f"{name} is no submission"
        refused(said, read_submission, tmp_path / name)


def test_predictions_on_other_content_or_inputs_are_refused(tmp_path: Path) -> None:
    task = questions(9)
    submission = build_submission(evaluate(tmp_path, right_below(9), [task], save_results=False))
    task_of_file = submission.submissions[0]
    (first, *rest), extra = task_of_file.items, {"input_id": "extra"}
    for items, asked, said in (
        ([first, *rest], questions(9, description="Other"), "was answered on other content"),
        ([first, *rest], questions(3, "absent"), "has nothing on task 'absent'"),
        ([first.model_copy(update=extra), *rest], task, "has no item for '0'"),
        ([first, first.model_copy(update=extra), *rest], task, "for unknown inputs 'extra'"),
        ([first, rest[-1]], task, "for '1', '2', '3', '4', '5' and 2 more"),
    ):
        task_of_file.items = items
        refused(said, submission.outputs_for, asked)
    task_of_file.task_hash = None
    refused(r"other content \(not named\)", submission.outputs_for, task)
