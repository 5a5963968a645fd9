"""The leaderboard: models side by side on the same tasks, or not at all."""

from __future__ import annotations

import csv
import io
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


def test_other_metrics_or_another_title_are_no_other_content(tmp_path: Path) -> None:
    one = run(tmp_path, "x", right_below(2), [questions(4, "a", ["accuracy", "f1"])])
    two = run(tmp_path, "y", right_below(3), [questions(4, "a", name="Other title")])
    board = leaderboard([one, two])
    assert set(board.columns) == {"accuracy", "diagnostics"}


def test_a_mean_is_over_the_tasks_that_all_have(tmp_path: Path) -> None:
    def fails_on_b(row: dict[str, Any]) -> Any:
        return {"answer": "0"} if len(model.asked) == 8 else None

    model = Model(fails_on_b)
    one = run(tmp_path, "x", right_below(4))
    two = run(tmp_path, "y", model, harness={})
    assert two.metadata["failed_tasks"] == ["b"]
    board = leaderboard([one, two], by="accuracy")
    assert board.columns["accuracy"] == ["a"]
    assert board.rows[0].cells["accuracy"].value == 0.5
    assert board.rows[1].failed == ["b"]
    assert "Left out, as not all models have scores: b." in board.notes


def test_averages_that_are_made_of_other_parts_are_left_out(tmp_path: Path) -> None:
    tasks = [questions(4, "a", ["accuracy", "rouge_l"])]

    def weighed(name: str, limit: int, *weights: int, **more: Any) -> BenchmarkReport:
        by = dict(zip(("accuracy", "rouge_l"), weights, strict=False))
        return run(tmp_path, name, right_below(limit), tasks, combined_weights=by or None, **more)

    one, two, same = weighed("x", 2, 1, 1), weighed("y", 3, 3, 1), weighed("y", 3, 2, 2)
    assert "combined_score" not in leaderboard([one, two]).columns
    board = leaderboard([one, same])
    assert (board.by, board.rows[0].model) == ("combined_score", "y")
    mapped = weighed("z", 1, category_map={"diagnostics": ["accuracy", "rouge_l"]})
    assert "diagnostics" not in leaderboard([one, mapped]).columns


def test_lower_is_better_where_it_is(tmp_path: Path) -> None:
    task = questions(2, "a", ["brier"])
    unsure, sure = (always({"answer": "0", "confidence": value}) for value in (0.5, 1.0))
    reports = [run(tmp_path, "sure", sure, [task]), run(tmp_path, "unsure", unsure, [task])]
    assert [row.model for row in leaderboard(reports).rows] == ["unsure", "sure"]


def test_items_without_a_score_are_told(tmp_path: Path) -> None:
    task = questions(3, "a", ["number_precision"])
    some = Model(lambda row: {"answer": "no idea" if "1" in row["question"] else "0"})
    board = leaderboard([run(tmp_path, "x", some, [task])])
    assert board.rows[0].cells["number_precision"].n_undefined == 1
    assert any("not defined for 1 of 3 items" in note for note in board.notes)


def test_two_runs_of_a_model_are_told_apart(tmp_path: Path) -> None:
    one, two = (run(tmp_path, "x", right_below(n)) for n in (1, 2))
    names = [row.model for row in leaderboard([one, two, one]).rows]
    assert len(set(names)) == 3
    assert f"x ({two.metadata['run_id']})" == names[0]


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


def test_a_board_is_written_in_three_forms(tmp_path: Path) -> None:
    board = leaderboard([run(tmp_path, name, right_below(n)) for name, n in (("<x>", 1), ("y", 2))])
    for suffix in ("md", "csv", "html"):
        board.write(tmp_path / f"board.{suffix}")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "board.csv").read_text(encoding="utf-8"))))
    assert len(rows) == 2 * len(board.columns)
    assert (rows[0]["rank"], rows[0]["model"], rows[0]["n_tasks"]) == ("1", "y", "2")
    html = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert "&lt;x&gt;" in html
    assert "<x>" not in html
    assert "| 2 | \\<x\\> |" in (tmp_path / "board.md").read_text(encoding="utf-8")
    refused("is written as md, csv, html", board.write, tmp_path / "board.pdf")
