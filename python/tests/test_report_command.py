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
    (scores,) = json.loads((run / "scores.json").read_text("utf-8"))["task_scores"].values()
    assert f"{scores['accuracy']:.3f}" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "<script src" not in page
    text = run_medeval("report", run, "--out", tmp_path / "report.md")
    assert text.returncode == 0, text.stderr
    assert "accuracy" in (tmp_path / "report.md").read_text(encoding="utf-8")
