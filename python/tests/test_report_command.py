"""`report`: a page of one run, a leaderboard of several."""

from __future__ import annotations

import json
from pathlib import Path

from commands import run_medeval


def scored_run(folder: Path, model: str = "demo") -> Path:
    done = run_medeval("run", "--task", "clinical_qa_basic", "--model", model, "--out", folder)
    assert done.returncode == 0, done.stderr
    run = next(folder.iterdir())
    assert run_medeval("score", "--task", "clinical_qa_basic", run).returncode == 0
    return run


def test_one_run_is_one_page_that_needs_nothing_else(tmp_path: Path) -> None:
    run = scored_run(tmp_path / "runs")
    done = run_medeval("report", run)
    assert done.returncode == 0, done.stderr
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "clinical_qa_basic" in page
    assert "0.800" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "<script src" not in page
    text = run_medeval("report", run, "--out", tmp_path / "report.md")
    assert text.returncode == 0, text.stderr
    assert "accuracy" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_several_runs_are_a_leaderboard_on_the_same_content(tmp_path: Path) -> None:
    code = tmp_path / "silent.py"
    code.write_text('def answer(messages):\n    return \'{"answer": "none"}\'\n')
    one, two = scored_run(tmp_path / "one"), scored_run(tmp_path / "two", f"{code}:answer")
    out = tmp_path / "board.csv"
    done = run_medeval("report", one, two, "--out", out)
    assert done.returncode == 0, done.stderr
    rows = out.read_text(encoding="utf-8").splitlines()
    assert "demo" in rows[1]
    report = json.loads((two / "scores.json").read_text(encoding="utf-8"))
    report["detailed_results"][0]["metadata"]["task_hash"] = "0" * 64
    (two / "scores.json").write_text(json.dumps(report), encoding="utf-8")
    other = run_medeval("report", one, two, "--out", tmp_path / "no.csv")
    assert other.returncode == 2
    assert "clinical_qa_basic" in other.stderr
    assert not (tmp_path / "no.csv").exists()


def test_a_run_without_scores_says_what_to_do(tmp_path: Path) -> None:
    done = run_medeval("report", tmp_path)
    assert done.returncode == 2
    assert "medeval score" in done.stderr
    (tmp_path / "scores.json").write_text("{}")
    assert run_medeval("report", tmp_path).returncode == 2
