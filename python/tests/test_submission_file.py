"""Submission files: built from results, written, read, and held against the tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness_runs import SECRET_TEXT, Model, always, evaluate, number_of, questions, right_below

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.medical_task import task_hash
from medeval.models.task_types import MedicalQATask
from medeval.reporting.submission import (
    Submission,
    build_submission,
    read_submission,
    validate_submission,
    write_submission,
)

Fields = dict[str, Any]


def fields() -> Fields:
    items = [{"input_id": "0", "prediction": {"answer": "x"}}]
    return {
        "schema_version": 1,
        "run_id": "run",
        "model_id": "m",
        "created_at": "2026-01-02T03:04:05Z",
        "submissions": [{"task_id": "t", "items": items}],
    }


def test_a_submission_holds_every_item_that_was_asked(tmp_path: Path) -> None:
    def answer(row: Fields) -> Any:
        return {0: {"answer": "0", "rationale": "known"}, 1: {}, 2: None}[number_of(row)]

    task = questions(3)
    report = evaluate(tmp_path, Model(answer), [task, MedicalQATask("blank")])
    submission = build_submission(report)
    assert json.loads(submission.to_json()) == {
        "schema_version": 1,
        "run_id": report.metadata["run_id"],
        "model_id": "tested",
        "created_at": json.loads(submission.to_json())["created_at"],
        "submissions": [
            {
                "task_id": "questions",
                "task_hash": task_hash(task),
                "items": [
                    {
                        "input_id": "0",
                        "prediction": {"answer": "0", "rationale": "known"},
                        "reasoning": "known",
                    },
                    {"input_id": "1", "prediction": {"error": {"type": "empty"}}},
                    {
                        "input_id": "2",
                        "prediction": {"error": {"type": "NotAMapping", "attempts": 1}},
                    },
                ],
            }
        ],
    }
    without = build_submission(report, include_reasoning=False)
    assert without.submissions[0].items[0].reasoning is None


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_file_is_read_as_it_was_written(suffix: str, tmp_path: Path) -> None:
    report = evaluate(tmp_path, right_below(1), [questions(3), questions(2, "other")])
    submission = build_submission(report)
    path = tmp_path / f"submission.{suffix}"
    write_submission(submission, path)
    assert read_submission(path) == submission
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(UserError, match=r"use json, yaml or yml"):
        write_submission(submission, tmp_path / "submission.txt")


def test_predictions_score_as_the_outputs_did(tmp_path: Path) -> None:
    task = questions(4)
    report = evaluate(tmp_path, right_below(3), [task])
    submission = build_submission(report)
    submission.submissions[0].items.reverse()
    outputs = submission.outputs_for(task)
    assert outputs == report.detailed_results[0].model_outputs
    assert task.score(outputs)["accuracy"].value == report.overall_scores["accuracy"] == 0.75


def test_a_submission_from_a_saved_report_is_the_same(tmp_path: Path) -> None:
    rows = [{"input": {"id": "a7", "question": "What is 0?"}, "output": {"answer": "0"}}]
    report = evaluate(tmp_path, right_below(1), [questions(dataset=rows)])
    saved = tmp_path / "results" / f"{report.metadata['run_id']}.json"
    again = build_submission(BenchmarkReport.from_file(saved))
    first = build_submission(report)
    assert again.submissions == first.submissions
    assert first.submissions[0].items[0].input_id == "a7"


@pytest.mark.parametrize(
    ("output", "reasoning"),
    [
        ({"rationale": "d", "trace": "c", "chain_of_thought": "b", "reasoning": "a"}, "a"),
        ({"rationale": "d", "trace": "c", "chain_of_thought": "b", "reasoning": None}, "b"),
        ({"rationale": "d", "trace": ["c"]}, "['c']"),
        ({"rationale": " ", "answer": "x"}, None),
        ({"explanation": "e"}, None),
    ],
)
def test_the_reasoning_is_the_first_that_there_is(
    output: Fields, reasoning: str | None, tmp_path: Path
) -> None:
    report = evaluate(tmp_path, always(output), [questions(1)])
    item = build_submission(report).submissions[0].items[0]
    assert (item.reasoning, item.prediction) == (reasoning, output)


def test_tasks_that_are_not_open_are_submitted_only_when_asked(tmp_path: Path) -> None:
    closed = questions(1, data_class="credentialed")
    report = evaluate(tmp_path, always({"answer": SECRET_TEXT}), [closed])
    with pytest.raises(UserError, match="'questions' is not open") as caught:
        build_submission(report)
    assert SECRET_TEXT not in str(caught.value)
    assert SECRET_TEXT in build_submission(report, show_text=True).to_json()


def test_what_cannot_be_submitted_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to submit"):
        build_submission(BenchmarkReport(model_id="m"))
    report = evaluate(tmp_path, right_below(1), [questions(2)])
    report.add_evaluation_result(report.detailed_results[0])
    with pytest.raises(UserError, match="has several results"):
        build_submission(report)
    odd = BenchmarkReport(model_id="m")
    odd.add_evaluation_result(
        EvaluationResult(
            model_id="m",
            task_id="t",
            model_outputs=[{"answer": "x"}],
            metadata={"data_class": "open", "input_ids": ["a", "b"]},
        )
    )
    with pytest.raises(UserError, match="1 outputs for 2 inputs"):
        build_submission(odd)
    odd.detailed_results[0] = odd.detailed_results[0].model_copy(
        update={"model_outputs": [{"answer": "x"}] * 2}
    )
    odd.detailed_results[0].metadata["input_ids"] = ["a", "a"]
    with pytest.raises(UserError, match="more than one item has the input_id 'a'"):
        build_submission(odd)


ITEM = {"input_id": "0", "prediction": {"answer": "x"}}
# What stands in place of a part, None for nothing; and where the message says it is.
BROKEN: list[tuple[Fields, Fields, str]] = [
    *(({name: None}, {}, name) for name in ("run_id", "model_id", "submissions")),
    ({"schema_version": 0}, {}, "schema_version"),
    ({"schema_version": 2}, {}, "newest that this version reads is 1"),
    ({"created_at": "soon"}, {}, "created_at"),
    ({"model_id": " "}, {}, "model_id"),
    ({"submissions": []}, {}, "submissions: List should have at least 1"),
    ({"submissions": [{"task_id": "t", "items": []}]}, {}, "submissions.0.items"),
    ({"submissions": [{"items": [ITEM]}]}, {}, "submissions.0.task_id"),
    ({"submissions": [{"task_id": "t", "items": [ITEM]}] * 2}, {}, "task_id 't'"),
    ({"submissions": [{"task_id": "t", "items": [ITEM] * 2}]}, {}, "input_id '0'"),
    ({}, {"prediction": {}}, "submissions.0.items.0.prediction"),
    ({}, {"prediction": "x"}, "submissions.0.items.0.prediction"),
    ({}, {"input_id": ""}, "submissions.0.items.0.input_id"),
    ({}, {"input_id": 3}, "submissions.0.items.0.input_id"),
    ({}, {"reasoning": ""}, "submissions.0.items.0.reasoning"),
]


@pytest.mark.parametrize(("of_file", "of_item", "place"), BROKEN)
def test_a_field_that_breaks_a_rule_is_named(
    of_file: Fields, of_item: Fields, place: str, tmp_path: Path
) -> None:
    assert validate_submission(fields()).model_id == "m"
    content = fields()
    content["submissions"][0]["items"][0].update(of_item)
    content = {name: value for name, value in (content | of_file).items() if value is not None}
    with pytest.raises(UserError, match="Not a submission: ") as caught:
        validate_submission(content)
    assert place in str(caught.value)
    path = tmp_path / "submission.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match=r"submission\.json is no submission: "):
        read_submission(path)


def test_files_of_other_programs_are_read_and_what_they_add_is_kept(tmp_path: Path) -> None:
    content = fields()
    content["submissions"][0]["items"][0]["latency"] = 3
    content["team"] = "a"
    submission = validate_submission(content)
    assert submission.submissions[0].task_hash is None
    assert json.loads(submission.to_json()) == content
    with pytest.raises(UserError, match="There is no submission file"):
        read_submission(tmp_path / "absent.json")
    (tmp_path / "torn.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"torn\.json is no submission"):
        read_submission(tmp_path / "torn.json")
    (tmp_path / "list.yaml").write_text("- a", encoding="utf-8")
    with pytest.raises(UserError, match=r"list\.yaml is no submission"):
        read_submission(tmp_path / "list.yaml")


def submission_on(folder: Path, task: MedicalQATask) -> Submission:
    return build_submission(evaluate(folder, right_below(9), [task], save_results=False))


def test_predictions_on_other_content_are_refused(tmp_path: Path) -> None:
    task = questions(3)
    submission = submission_on(tmp_path, task)
    assert submission.check_against([task]) is submission
    with pytest.raises(UserError, match="was answered on other content"):
        submission.check_against([questions(3, description="Other")])
    with pytest.raises(UserError, match="has nothing on task 'absent'"):
        submission.check_against([task, questions(3, "absent")])
    submission.submissions[0].task_hash = None
    with pytest.raises(UserError, match=r"other content \(not named\)"):
        submission.check_against([task])


def test_predictions_are_one_for_each_input(tmp_path: Path) -> None:
    task = questions(9)
    submission = submission_on(tmp_path, task)
    items = submission.submissions[0].items
    items[0].input_id = "extra"
    with pytest.raises(UserError, match="has no item for '0'"):
        submission.outputs_for(task)
    items.append(items[0].model_copy(update={"input_id": "0"}))
    with pytest.raises(UserError, match="has items for unknown inputs 'extra'"):
        submission.outputs_for(task)
    del items[:8]
    with pytest.raises(UserError, match="for '1', '2', '3', '4', '5' and 2 more"):
        submission.outputs_for(task)
