"""A score as a report: what pages and leaderboards need of every task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import run_medeval

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.scores import Interval
from medeval.reporting import leaderboard
from medeval.reporting.report import contents_of, rendered
from medeval.tasks.for_reports import report_of
from medeval.tasks.task import Table, TaskScore

JUDGE = {
    "judge": "strict",
    "model": "strict-1",
    "models_reported": ["strict-1-2026"],
    "endpoint": "http://127.0.0.1:1/v1",
    "ok": 2,
    "partial": 1,
    "failed": 1,
    "cost": None,
}
JUDGING = {
    "rubric": "plan-1",
    "rubric_sha256": "ab" * 32,
    "prompt_version": "judge-1",
    "pooling": "median",
    "repeats": 2,
    "ok": 2,
    "partial": 1,
    "failed": 1,
    "not_judged": {"errored": 1},
    "possible_injections": 0,
    "cost": None,
    "judges": [JUDGE],
}


def scored(
    values: dict[str, float], model: str = "m", headline: str = "quality", **told: Any
) -> TaskScore:
    low_high = {"low": 0.1, "high": 0.9, "level": 0.95, "method": "bootstrap over items"}
    result = EvaluationResult(
        model_id=model,
        task_id="t",
        inputs=[{"n": 1}, {"n": 2}],
        metrics_results=values,
        intervals={name: Interval.model_validate({**low_high, "n": 2}) for name in values},
        metadata={
            "data": {"sha256": "00", "data_class": "open"},
            "headline": headline,
            "n_iters": 500,
            "seed": 3,
            "prompt_version": "t-1",
            "models_reported": {"m-2026": 2},
            "endpoint": "http://127.0.0.1:1/v1",
            **told,
        },
    )
    return TaskScore(
        result,
        headline,
        warnings=["Take care."],
        groups={"ward": {"a": {"n": 2.0, "quality": 0.5}, "b": {"n": None, "quality": None}}},
        notes=["A note."],
        tables=[Table("own", ("x", "y"), [("p", "q")])],
        details=[Table("detail", ("x", "y"), [("r", "s")])],
    )


def test_a_page_names_who_answered_how_it_was_asked_and_how_intervals_were_made() -> None:
    report = report_of(scored({"quality": 0.5}))
    about = dict(contents_of(report).about)
    assert about["Model as its server names it"] == "m-2026"
    assert about["Prompt version"] == "t-1"
    assert about["medeval"]
    assert about["Endpoint"] == "http://127.0.0.1:1/v1"
    assert about["Intervals"] == "95%, 500 resamples of items, seed 3; bootstrap over items"


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_page_shows_warnings_notes_groups_and_tables(form: str) -> None:
    page = rendered(report_of(scored({"quality": 0.5}, judging=JUDGING)), form)
    for text in ("Take care.", "A note.", "by ward", "not shown", "own", "detail", "judging"):
        assert text in page
    for text in ("strict-1-2026", "plan-1 (abababababab)", "not judged: errored", "median"):
        assert text in page.replace("\\", "")


def test_a_table_of_the_task_replaces_the_plain_one_of_its_groups() -> None:
    score = scored({"quality": 0.5})
    own = Table("by ward", ("ward", "interval"), [("a", "0.1 to 0.9")])
    with_own = TaskScore(score.result, "quality", groups=score.groups, tables=[own])
    tables = report_of(with_own).detailed_results[0].metadata["tables"]
    assert [(one["title"], one["columns"]) for one in tables] == [("by ward", ["ward", "interval"])]


def test_a_headline_that_is_undefined_has_a_line_with_its_reason() -> None:
    missing = {"quality": {"items": 2, "reason": "no usable judgment"}}
    report = report_of(scored({"other": 0.2}, undefined=missing, n={"other": 2, "quality": 0}))
    first = contents_of(report).tasks[0].lines[0]
    assert (first.name, first.value, first.n, first.n_undefined) == ("quality", None, 0, 2)
    assert "no usable judgment" in first.note
    assert "undefined" in rendered(report, "md")


def test_a_report_without_its_headline_has_no_place_beside_others() -> None:
    missing = {"quality": {"items": 2, "reason": "no usable judgment"}}
    good = report_of(scored({"quality": 0.5, "other": 0.4}, "good"))
    bad = report_of(scored({"other": 0.2}, "bad", undefined=missing))
    with pytest.raises(UserError, match=r"'bad' has no quality of task 't' \(no usable judgment\)"):
        leaderboard([good, bad])


def test_the_headline_ranks() -> None:
    one = report_of(scored({"a": 0.9, "quality": 0.1}, "one"))
    two = report_of(scored({"a": 0.1, "quality": 0.9}, "two"))
    board = leaderboard([one, two])
    assert next(iter(board.columns)) == "quality"
    assert [row.model for row in board.rows] == ["two", "one"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"score_version": 1}, {"score_version": 2}, "score version: 2"),
        ({"judging": JUDGING}, {"judging": {**JUDGING, "pooling": "mean"}}, "judging"),
        ({"judging": JUDGING}, {"judging": {**JUDGING, "prompt_version": "judge-2"}}, "judge-2"),
        (
            {"judging": JUDGING},
            {"judging": {**JUDGING, "judges": [{**JUDGE, "model": "mild"}]}},
            "mild at",
        ),
        ({"judging": JUDGING}, {"judging": {**JUDGING, "repeats": 1}}, "1 verdicts"),
    ],
)
def test_scores_by_other_rules_or_judges_cannot_stand_side_by_side(
    first: dict[str, Any], second: dict[str, Any], words: str
) -> None:
    reports = [
        report_of(scored({"quality": 0.5}, "one", **first)),
        report_of(scored({"quality": 0.5}, "two", **second)),
    ]
    with pytest.raises(UserError, match="scored otherwise") as refused:
        leaderboard(reports)
    assert words in str(refused.value)
    assert leaderboard([reports[0], report_of(scored({"quality": 0.4}, "three", **first))]).rows


def test_a_run_that_no_judge_saw_stands_beside_one_that_was_judged() -> None:
    judged = report_of(scored({"quality": 0.5, "reward_judged": 0.5}, "one", judging=JUDGING))
    other = report_of(scored({"quality": 0.4}, "two"))
    assert list(leaderboard([judged, other]).columns) == ["quality"]


def test_a_count_is_drawn_on_no_scale_from_zero_to_one() -> None:
    told = {"about_metrics": {"calls": {"scale": "count", "direction": "lower"}}}
    report = report_of(scored({"calls": 0.5, "quality": 0.5}, **told))
    lines = {line.name: line for line in contents_of(report).tasks[0].lines}
    assert lines["calls"].is_count
    assert lines["calls"].direction == "lower"
    assert not lines["quality"].is_count
    page = rendered(report, "html")
    drawn = [row for row in page.split("<tr") if "<svg" in row]
    assert drawn
    assert not any(">calls" in row for row in drawn)


def test_the_only_task_of_a_report_gives_the_overall_score_its_interval() -> None:
    overall = contents_of(report_of(scored({"quality": 0.5}))).overall
    assert overall[0].interval is not None


def test_tables_of_another_form_are_not_shown() -> None:
    report = report_of(scored({"quality": 0.5}))
    report.detailed_results[0].metadata["tables"] = ["no table", {"title": "half"}]
    report.detailed_results[0].metadata["warnings"] = "no list"
    part = contents_of(report).tasks[0]
    assert part.tables == []
    assert part.warnings == []


def test_a_cdm_report_shows_pathologies_with_intervals_and_both_score_versions(
    asked_export: Path, tmp_path: Path
) -> None:
    done = run_medeval(
        *("run", "--task", "cdm", "--model", "demo", "--limit", "12"),
        *("--cases", asked_export, "--out", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    run = next(tmp_path.iterdir())
    one = run_medeval("score", "--task", "cdm", run, "--score-version", "1")
    assert one.returncode == 0, one.stderr
    first = BenchmarkReport.from_file(run / "scores.json")
    two = run_medeval("score", "--task", "cdm", run)
    assert "by score version" in two.stdout
    assert "by pathology" in two.stdout
    second = BenchmarkReport.from_file(run / "scores.json")
    with pytest.raises(UserError, match="score version"):
        leaderboard([first, second])
    page = rendered(second, "md")
    header = next(line for line in page.splitlines() if line.startswith("| score | appendicitis"))
    assert "pancreatitis" in header
    assert " to " in next(line for line in page.splitlines() if line.startswith("| Gracious"))
    assert "| score | version 2 | version 1 |" in page
