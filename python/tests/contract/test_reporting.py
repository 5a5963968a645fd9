"""Reports in every format: complete, readable, and without text that is not open."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from harness_runs import SECRET_TEXT, Model, evaluate, number_of, questions, right_below

from medeval.models import BenchmarkReport, EvaluationResult
from medeval.models.task_types import MedicalQATask
from medeval.reporting import write_report

FORMATS = ("json", "yaml", "md", "csv", "html", "tex")
MOST_ITEMS = 200


def rendered(report: BenchmarkReport, form: str, **options: Any) -> str:
    """Return what a report is as a file."""
    with tempfile.TemporaryDirectory() as folder:
        write_report(report, Path(folder) / "report", form, **options)
        return (Path(folder) / "report").read_text(encoding="utf-8")


def table_of(report: BenchmarkReport) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(rendered(report, "csv"))))


@pytest.fixture
def report(tmp_path: Path) -> BenchmarkReport:
    """A report with an open task, one that is not, one that failed, and items of several ends."""

    def answer(row: dict[str, Any]) -> Any:
        number = number_of(row)
        if number == 1:
            return {"error": {"type": "refused", "attempts": 1}}
        return None if number == 3 else {"answer": str(number), "why": SECRET_TEXT[::-1]}

    rows = [
        {"input": {"question": f"{SECRET_TEXT}. What is {n}?"}, "output": {"answer": str(n)}}
        for n in range(3)
    ]
    tasks = [
        questions(5, metrics=["accuracy", "f1", "brier"]),
        MedicalQATask("closed", dataset=rows, metrics=["accuracy"]),
        MedicalQATask("blank", name="Nothing in it"),
    ]
    return evaluate(tmp_path, Model(answer), tasks, model_id="acme/model")


@pytest.mark.parametrize("form", FORMATS)
def test_text_that_is_not_open_is_in_no_report(form: str, report: BenchmarkReport) -> None:
    one_line = " ".join(rendered(report, form).split())
    has_items = form not in ("csv", "tex")
    assert ("What is 0?" in one_line) == has_items
    report = report.model_copy(update={"detailed_results": report.detailed_results[1:]})
    text, asked = (
        " ".join(rendered(report, form, show_text=show).split()) for show in (False, True)
    )
    for secret in (SECRET_TEXT, SECRET_TEXT[::-1]):
        assert secret not in text
        assert (secret in asked) == has_items
    # A result that does not say that it is open is not.
    texts = {"inputs": [{"question": SECRET_TEXT}], "model_outputs": [{"answer": SECRET_TEXT}]}
    report = BenchmarkReport(model_id="m")
    report.add_evaluation_result(
        EvaluationResult(model_id="m", task_id="t", metrics_results={"accuracy": 1.0}, **texts)
    )
    assert SECRET_TEXT not in rendered(report, form)


def test_the_table_has_every_score_and_every_failed_task(report: BenchmarkReport) -> None:
    rows = table_of(report)
    task_rows = {(row["task_id"], row["name"]): row for row in rows if row["scope"] == "task"}
    for task_id, scores in report.task_scores.items():
        for name, value in scores.items():
            assert float(task_rows[task_id, name]["value"]) == value
    overall = {row["name"]: float(row["value"]) for row in rows if row["scope"] == "overall"}
    assert overall == report.overall_scores
    accuracy = task_rows["questions", "accuracy"]
    interval = (report.detailed_results[0].intervals or {})["accuracy"]
    assert (float(accuracy["low"]), float(accuracy["high"])) == (interval.low, interval.high)
    assert (accuracy["n"], accuracy["method"], accuracy["kind"]) == ("5", "wilson", "metric")
    brier = task_rows["questions", "brier"]
    assert (brier["value"], brier["n_undefined"], brier["direction"]) == ("", "5", "lower")
    assert task_rows["questions", "diagnostics"]["kind"] == "category"
    assert task_rows["blank", ""]["status"] == "error"
    assert "has no rows" in task_rows["blank", ""]["note"]
    assert {row["model_id"] for row in rows} == {"acme/model"}


def test_the_page_needs_no_other_file(report: BenchmarkReport) -> None:
    text = rendered(report, "html", show_text=True)
    assert not re.search(r"<(script\s|link|img|iframe|base\b)|url\(|@import|https?:", text)
    assert "default-src 'none'" in text
    assert not re.search(r"<[^>]*\s(src|href|srcset|action|on\w+)\s*=", text)
    assert "Failed, and in no mean: blank" in text


def test_a_page_holds_so_many_items_and_says_how_many_more(tmp_path: Path) -> None:
    report = evaluate(tmp_path, right_below(2), [questions(MOST_ITEMS + 3)])
    assert "3 more items are found by search and filters" in rendered(report, "html")
    # The mean of several results has no interval of one of them.
    one = {(row["scope"], row["name"]): row["low"] for row in table_of(report)}
    report.add_evaluation_result(report.detailed_results[0])
    mean = {(row["scope"], row["name"]): row["low"] for row in table_of(report)}
    assert (one["task", "accuracy"] != "", mean["task", "accuracy"]) == (True, "")
    assert str(2 * (MOST_ITEMS + 3)) in rendered(report, "md")
