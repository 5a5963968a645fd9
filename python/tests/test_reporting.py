"""Reports in every format: complete, readable, and without text that is not open."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from harness_runs import SECRET_TEXT, Model, always, evaluate, number_of, questions, right_below

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.task_types import MedicalQATask
from medeval.reporting import write_report
from medeval.reporting.report import FORMATS, MOST_ITEMS, contents_of, rendered

HOSTILE = '<script>alert("1")</script> | *a* `b`'


class Page(HTMLParser):
    """What a page holds: its tags with their attributes, and its text by table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self._in_cell = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_cell:
            self.tables[-1][-1][-1] += data.strip()


def closed(task_id: str = "closed") -> MedicalQATask:
    rows = [
        {"input": {"question": f"{SECRET_TEXT}. What is {n}?"}, "output": {"answer": str(n)}}
        for n in range(3)
    ]
    return MedicalQATask(task_id, dataset=rows, metrics=["accuracy"])


@pytest.fixture
def report(tmp_path: Path) -> BenchmarkReport:
    """A report with an open task, one that is not, one that failed, and items of several ends."""

    def answer(row: dict[str, Any]) -> Any:
        number = number_of(row)
        if number == 1:
            return {"error": {"type": "refused", "attempts": 1}}
        return None if number == 3 else {"answer": str(number), "why": SECRET_TEXT[::-1]}

    tasks = [
        questions(5, metrics=["accuracy", "f1", "brier"]),
        closed(),
        MedicalQATask("blank", name="Nothing in it"),
    ]
    return evaluate(tmp_path, Model(answer), tasks, model_id="acme/model")


@pytest.mark.parametrize("form", FORMATS)
def test_text_that_is_not_open_is_in_no_report_unless_asked(
    form: str, report: BenchmarkReport
) -> None:
    hidden = (SECRET_TEXT, SECRET_TEXT[::-1])
    one_line = " ".join(rendered(report, form).split())
    assert "What is 0?" in one_line or form == "csv"
    report = report.model_copy(update={"detailed_results": report.detailed_results[1:]})
    text, asked = (
        " ".join(rendered(report, form, show_text=show).split()) for show in (False, True)
    )
    for secret in hidden:
        assert secret not in text
        assert (secret in asked) == (form != "csv")


def test_a_result_that_does_not_say_that_it_is_open_is_not(tmp_path: Path) -> None:
    report = BenchmarkReport(model_id="m")
    report.add_evaluation_result(
        EvaluationResult(
            model_id="m",
            task_id="t",
            inputs=[{"question": SECRET_TEXT}],
            model_outputs=[{"answer": SECRET_TEXT}],
            metrics_results={"accuracy": 1.0},
        )
    )
    for form in FORMATS:
        assert SECRET_TEXT not in rendered(report, form)
    assert "Inputs and outputs are not shown" in rendered(report, "md")


def test_the_format_is_that_of_the_suffix_or_the_one_that_is_given(
    report: BenchmarkReport, tmp_path: Path
) -> None:
    write_report(report, tmp_path / "new" / "a.htm")
    write_report(report, tmp_path / "b", "HTML")
    text = (tmp_path / "new" / "a.htm").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert (tmp_path / "b").read_text(encoding="utf-8") == text
    assert (tmp_path / "b").stat().st_mode & 0o077 == 0
    with pytest.raises(UserError, match=r"Unknown report format 'pdf'. Use one of json, yaml, md"):
        write_report(report, tmp_path / "a.pdf")
    with pytest.raises(UserError, match="Unknown report format ''"):
        write_report(report, tmp_path / "none")


def test_the_table_has_a_line_for_every_score_and_every_failed_task(
    report: BenchmarkReport,
) -> None:
    rows = list(csv.DictReader(io.StringIO(rendered(report, "csv"))))
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
    assert (brier["value"], brier["n"], brier["n_undefined"]) == ("", "0", "5")
    assert brier["direction"] == "lower"
    assert task_rows["questions", "diagnostics"]["kind"] == "category"
    failed = task_rows["blank", ""]
    assert failed["status"] == "error"
    assert "has no rows" in failed["note"]
    assert {row["model_id"] for row in rows} == {"acme/model"}


def test_the_page_needs_no_other_file_and_runs_no_script(report: BenchmarkReport) -> None:
    text = rendered(report, "html", show_text=True)
    page = Page(text)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "img", "iframe", "base"})
    for _, attributes in page.tags:
        assert attributes.keys().isdisjoint({"src", "href", "srcset", "action"})
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"url\(|@import|https?:", text)


def test_the_page_shows_scores_intervals_numbers_and_the_ledger(report: BenchmarkReport) -> None:
    page = Page(rendered(report, "html"))
    overall, ledger, questions_table = page.tables[:3]
    interval = (report.detailed_results[0].intervals or {})["accuracy"]
    assert [row[0] for row in overall[1:]] == list(report.overall_scores)
    accuracy = next(row for row in questions_table if row[0] == "accuracy")
    assert accuracy[1:3] == ["0.600", f"{interval.low:.3f} to {interval.high:.3f}"]
    assert accuracy[4] == "5"
    brier = next(row for row in questions_table if row[0].startswith("brier"))
    assert brier[1] == "undefined"
    assert brier[5] == "5"
    head, first, *_, total = ledger
    assert head[2:6] == ["asked", "answered", "unparsed", "refused"]
    assert first[0] == "questions"
    assert first[2:6] == ["5", "3", "0", "1"]
    assert (total[0], total[2], total[-1]) == ("all", "8", "1")
    assert "Failed, and in no mean: blank" in page.text
    assert "has no rows" in page.text


def test_names_and_texts_are_shown_not_run(tmp_path: Path) -> None:
    task = questions(
        2,
        dataset=[{"input": {"question": HOSTILE}, "output": {"answer": "x"}}],
        description=HOSTILE,
        name=HOSTILE,
    )
    report = evaluate(tmp_path, always({"answer": HOSTILE}), [task], model_id=HOSTILE)
    text = rendered(report, "html")
    assert "<script" not in text
    page = Page(text)
    assert page.text.count(HOSTILE) >= 4
    assert "<script" not in rendered(report, "md").replace("\\<script", "")
    lines = rendered(report, "md").splitlines()
    item = next(line for line in lines if line.startswith("| 0 |"))
    assert len(re.findall(r"(?<!\\)\|", item)) == 5


def test_violations_are_shown(tmp_path: Path) -> None:
    report = evaluate(tmp_path, always({"reply": "x"}), [questions(2)])
    for form in ("md", "html"):
        text = rendered(report, form).replace("\\", "").replace("&#39;", "'")
        assert "model_outputs[1] missing required keys: ['answer']" in text


def test_a_report_that_was_made_by_hand_is_shown_as_far_as_it_goes() -> None:
    report = BenchmarkReport(
        model_id="m",
        task_scores={"t": {"accuracy": 0.5}, "u": {}},
        overall_scores={"accuracy": 0.5},
        metadata={"intervals": "none", "bootstrap": {"draws": 5}},
    )
    for form in FORMATS:
        assert "accuracy" in rendered(report, form)
    contents = contents_of(report)
    assert [(task.task_id, task.status, task.n_items) for task in contents.tasks] == [
        ("t", "", None),
        ("u", "", None),
    ]
    assert contents.overall[0].interval is None
    assert "No scores." in rendered(report, "md")


def test_the_mean_of_several_results_has_no_interval_of_one_of_them(tmp_path: Path) -> None:
    report = evaluate(tmp_path, right_below(2), [questions(4)])
    assert contents_of(report).tasks[0].lines[0].interval is not None
    report.add_evaluation_result(report.detailed_results[0])
    task = contents_of(report).tasks[0]
    assert task.lines[0].interval is None
    assert task.outcomes["asked"] == 8


def test_a_page_holds_so_many_items_and_says_how_many_more(tmp_path: Path) -> None:
    report = evaluate(tmp_path, right_below(2), [questions(MOST_ITEMS + 3)])
    task = contents_of(report).tasks[0]
    assert (len(task.items), task.n_hidden) == (MOST_ITEMS, 3)
    assert "3 more items are in the JSON report." in rendered(report, "html")
