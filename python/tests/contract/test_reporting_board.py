"""The leaderboard: models side by side on the same tasks, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness_runs import Model, always, evaluate, questions, right_below
from tables import refused

from medeval.models import BenchmarkReport, EvaluationResult
from medeval.reporting import leaderboard

TASKS = [questions(8, "a", ["accuracy", "rouge_l"]), questions(4, "b")]


def run(folder: Path, name: str, model: Model, tasks: Any = TASKS, **more: Any) -> BenchmarkReport:
    return evaluate(folder, model, tasks, model_id=name, save_results=False, **more)


def test_models_stand_by_rank_and_equal_ones_share_it(tmp_path: Path) -> None:
    reports = [run(tmp_path, name, right_below(n)) for name, n in (("x", 2), ("z", 4), ("y", 4))]
    board = leaderboard(reports, by="accuracy")
    assert [(row.rank, row.model) for row in board.rows] == [(1, "y"), (1, "z"), (3, "x")]
    assert board.rows[0].cells["accuracy"].value == pytest.approx((0.5 + 1) / 2)
    assert (board.columns["accuracy"], board.columns["rouge_l"]) == (["a", "b"], ["a"])
    # Intervals and numbers are those of the reports.
    cells = board.rows[2].cells
    interval = cells["accuracy"].interval
    assert interval is not None
    assert interval.model_dump() == reports[0].metadata["intervals"]["overall_scores"]["accuracy"]
    assert (interval.method, cells["accuracy"].n) == ("bootstrap_percentile_within_tasks", 12)
    assert cells["rouge_l"].interval == (reports[0].detailed_results[0].intervals or {})["rouge_l"]
    # From files it is the same.
    again = []
    for report in reports:
        report.save(tmp_path / f"{report.model_id}.json")
        again.append(BenchmarkReport.from_file(tmp_path / f"{report.model_id}.json"))
    assert leaderboard(again, by="accuracy") == board
    reports[1].metadata["medeval_version"] = "0.0.1"
    notes = leaderboard(reports).notes
    assert any("different versions of medeval: 0.0.1, " in note for note in notes)


def test_what_cannot_be_ranked_is_an_error(tmp_path: Path) -> None:
    one = run(tmp_path, "x", right_below(1), [questions(4, "a")])
    two = run(tmp_path, "y", right_below(2), [questions(5, "a")])
    # Also where it is the task of a model that failed on it: a hash that differs differs.
    failed = run(tmp_path, "z", always(None), [questions(5, "a")])
    other = run(tmp_path, "y", right_below(1), [questions(2, "elsewhere")])
    unknown = [BenchmarkReport(model_id=name) for name in "xy"]
    for report in unknown:
        scored = {"task_id": "t", "metrics_results": {"accuracy": 0.5}}
        report.add_evaluation_result(EvaluationResult(model_id=report.model_id, **scored))
    for reports, by, said in (
        ([], None, "needs at least one report"),
        ([one], "f1", r"Not all reports have 'f1'\. They share accuracy"),
        ([one, other], None, "no score of any task in common"),
        ([one, two], None, r"Task 'a' has other content in the report of 'y'"),
        ([one, failed], None, "other content"),
        (unknown, None, "does not say which content of task 't'"),
    ):
        refused(said, leaderboard, reports, by=by)
