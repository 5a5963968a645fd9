"""`leaderboard`: who is ahead, whom no test tells apart, and what does not stand side by side."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from in_process import Main

ITEMS = 40


@pytest.fixture
def main(main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Main:
    monkeypatch.chdir(tmp_path)
    return main


def run(
    model: str,
    right: int,
    *,
    task: str = "t",
    content: str = "a",
    metric: str = "accuracy",
    direction: str = "higher",
    **about: Any,
) -> Path:
    """Write the folder of a scored run in which the first so many items score 1, others 0."""
    scores = [float(number < right) for number in range(ITEMS)]
    value = {metric: right / ITEMS}
    told = {
        "task_hash": content * 64,
        "data": {"sha256": content * 63 + "f"},
        "headline": metric,
        "metrics": {metric: {"n": ITEMS, "direction": direction}},
    }
    result = {
        "model_id": model,
        "task_id": task,
        "inputs": [{"id": str(number)} for number in range(ITEMS)],
        "metrics_results": value,
        "item_scores": {metric: scores},
        "metadata": {**told, **about},
    }
    report = {
        "model_id": model,
        "timestamp": f"2026-03-0{len(list(Path.cwd().iterdir())) % 9 + 1}T10:00:00Z",
        "overall_scores": value,
        "task_scores": {task: value},
        "detailed_results": [result],
        "metadata": {"run_id": f"{task}-{model}-{content}", "medeval_version": "0"},
    }
    folder = Path.cwd() / f"{task}-{model}-{content}"
    folder.mkdir()
    (folder / "run.json").write_text("{}", encoding="utf-8")
    (folder / "scores.json").write_text(json.dumps(report), encoding="utf-8")
    return folder


def table(main: Main, runs: Sequence[Path], *words: str) -> list[dict[str, str]]:
    done = main("leaderboard", *runs, "--out", "-", "--format", "csv", *words)
    assert done.code == 0, done.err
    return list(csv.DictReader(StringIO(done.out, newline="")))


def test_models_that_no_test_tells_apart_share_a_letter(main: Main) -> None:
    runs = [run("far", 10), run("first", 36), run("near", 35)]
    rows = table(main, runs)
    assert [(row["rank"], row["model"], row["letters"]) for row in rows] == [
        ("1", "first", "a"),
        ("2", "near", "a"),
        ("3", "far", "b"),
    ]
    page = main("leaderboard", *runs, "--out", "-").out
    assert "Models that share a letter cannot be told apart" in page
    assert "| 1 | first | 0.900 |" in page


def test_a_ratio_of_sums_has_letters_by_what_it_is_made_of(main: Main) -> None:
    # As micro F1: twice the right answers over the chosen and the right ones, question by question.
    def ratios(right: int) -> dict[str, Any]:
        rows = [[2 * (number < right), 2 + (number % 2)] for number in range(ITEMS)]
        return {"item_ratios": {"accuracy": rows}}

    runs = [run(f"m{right}", right, **ratios(right)) for right in (10, 36, 35)]
    for folder in runs:
        report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
        del report["detailed_results"][0]["item_scores"]
        (folder / "scores.json").write_text(json.dumps(report), encoding="utf-8")
    rows = table(main, runs)
    found = [(row["model"], row["letters"]) for row in rows]
    assert found == [("m36", "a"), ("m35", "a"), ("m10", "b")]


@pytest.mark.parametrize(
    "content", ['{"settings": [1]}', "[[1, 2]]", '{"settings": {"a": 1}}', "{"]
)
def test_a_report_may_stand_beside_a_file_that_is_no_run_s(main: Main, content: str) -> None:
    folder = run("x", 20)
    (folder / "run.json").write_text(content, encoding="utf-8")
    done = main("report", folder / "scores.json", "--out", "report.md")
    assert done.code == 0, done.err
    assert "accuracy" in Path("report.md").read_text(encoding="utf-8")


def test_an_error_is_ranked_from_the_least_and_has_an_arrow_down(main: Main) -> None:
    runs = [
        run("much", 30, metric="error", direction="lower"),
        run("little", 2, metric="error", direction="lower"),
    ]
    assert [row["model"] for row in table(main, runs)] == ["little", "much"]
    main("leaderboard", *runs)
    page = Path("leaderboard.html").read_text(encoding="utf-8")
    assert "error ↓" in page
    assert "lower is better" in page
    assert Path("leaderboard.html").stat().st_mode & 0o777 == 0o600


def test_other_content_stands_in_a_table_of_its_own_with_the_reason(main: Main) -> None:
    runs = [run("x", 20), run("y", 30), run("z", 39, content="b")]
    rows = table(main, runs)
    found = [(row["content_sha256"], row["rank"], row["model"]) for row in rows]
    a, b = "a" * 12, "b" * 12
    assert found == [(a, "1", "y"), (a, "2", "x"), (b, "1", "z")]
    page = main("leaderboard", *runs, "--out", "-").out
    assert f"Task t has more than one table, since its runs differ in content ({a} and {b})" in page
    assert "| model | t (1 of 2): accuracy ↑ | t (2 of 2): accuracy ↑ |" in page
    assert "| z | no run | 0.975 |" in page
    # `report` of several runs is the same page.
    assert main("report", *runs, "--out", "board.md").code == 0
    assert Path("board.md").read_text(encoding="utf-8") == page


def test_other_judges_stand_in_a_table_of_their_own(main: Main) -> None:
    runs = [run(name, 20, scored_as={"judging": f"judge {name}"}) for name in "xy"]
    assert [row["rank"] for row in table(main, runs)] == ["1", "1"]
    assert "differ in judging (judge x and judge y)" in main("leaderboard", *runs, "--out", "-").out


def test_several_tasks_are_a_table_of_models_by_tasks(main: Main) -> None:
    runs = [run("x", 20), run("y", 30), run("x", 8, task="u"), run("y", 8, task="v")]
    page = main("leaderboard", *runs, "--out", "-").out
    assert "| model | t: accuracy ↑ | u: accuracy ↑ | v: accuracy ↑ |" in page
    assert "| x | 0.500 | 0.200 | no run |" in page
    assert "| y | 0.750 | no run | 0.200 |" in page


@pytest.mark.parametrize(
    ("item_scores", "why"),
    [
        ({}, "the run keeps no scores of single items for accuracy"),
        ({"accuracy": [1.0] * ITEMS}, "accuracy is no mean of scores of single items"),
    ],
)
def test_without_scores_of_items_the_page_says_why_there_is_no_letter(
    main: Main, item_scores: dict[str, Any], why: str
) -> None:
    runs = [run("x", 10), run("y", 30), run("z", 30)]
    place = runs[0] / "scores.json"
    report = json.loads(place.read_text(encoding="utf-8"))
    report["detailed_results"][0]["item_scores"] = item_scores
    place.write_text(json.dumps(report), encoding="utf-8")
    assert f"No letter for x: {why}." in main("leaderboard", *runs, "--out", "-").out
    # The others are tested all the same.
    assert [row["letters"] for row in table(main, runs)] == ["a", "a", ""]
    assert f"No letter for x: {why}." in main("leaderboard", *runs[:2], "--out", "-").out


def test_cost_and_latency_stand_where_the_run_knows_them(main: Main) -> None:
    priced = run("x", 10, usage={"cost": "0.1", "all_calls": {"cost": "0.25"}})
    unpriced = run("y", 30, usage={"cost": None})
    answered = main(
        "run", "--task", "clinical_qa_basic", "--model", "demo", "--limit", "3", "--out", "runs"
    )
    assert answered.code == 0, answered.err
    (other,) = Path("runs").iterdir()
    assert main("score", other, "--n-iters", "0").code == 0
    rows = {row["model"]: row for row in table(main, [priced, unpriced, other])}
    assert [rows[name]["cost"] for name in ("x", "y")] == ["0.25", ""]
    assert [rows[name]["median_seconds"] for name in ("x", "y")] == ["", ""]
    assert float(rows["demo"]["median_seconds"]) >= 0
    # As elsewhere, what is not known is not shown as 0.
    assert "| unknown |" in main("leaderboard", priced, unpriced, "--out", "-").out


def test_a_folder_of_runs_is_those_of_it_that_are_scored(main: Main, tmp_path: Path) -> None:
    run("x", 10)
    (run("y", 30) / "scores.json").unlink()
    done = main("leaderboard", tmp_path, "--out", "-")
    assert "1 runs of" in done.err
    assert "| 1 | x |" in done.out
    assert "| y |" not in done.out


def test_what_cannot_be_meant_is_said(main: Main) -> None:
    whole, part = run("x", 10), run("y", 30, not_asked=4)
    done = main("leaderboard", whole, part)
    assert done.code == 2
    assert "4 items of" in done.err
    assert "run --resume" in done.err
    assert main("leaderboard", whole, "--out", "board.pdf").code == 2
    assert main("leaderboard", whole, "--format", "xlsx").code == 2
    done = main("leaderboard", whole, "--by", "f1")
    assert done.code == 2
    assert "Not all reports have 'f1'" in done.err
    done = main("leaderboard", "nowhere")
    assert done.code == 2
    assert "Score the run first" in done.err


def test_the_format_that_is_named_counts_and_not_the_suffix(main: Main) -> None:
    main("leaderboard", run("x", 10), "--out", "board.txt", "--format", "md")
    assert Path("board.txt").read_text(encoding="utf-8").startswith("# Leaderboard")


def test_bars_lie_on_one_axis_also_beyond_1(main: Main) -> None:
    scores = {"x": 3.0, "y": -1.0}
    runs = [run(name, 10, metric="points") for name in scores]
    for place in runs:
        text = (place / "scores.json").read_text(encoding="utf-8")
        report = json.loads(text.replace("0.25", str(scores[place.name[2]])))
        (place / "scores.json").write_text(json.dumps(report), encoding="utf-8")
    assert main("leaderboard", *runs).code == 0
    page = Path("leaderboard.html").read_text(encoding="utf-8")
    assert "-1 to 3" in page
    places = re.findall(r'class="range" x1="([\d.]+)"', page)
    assert [float(one) for one in places] == [195.0, 5.0]
