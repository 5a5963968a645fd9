"""The functions that a notebook imports from `medeval`."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from commands import PROJECT_ROOT
from tables import refused

import medeval


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(PROJECT_ROOT / "python" / "tests" / "cli" / "inputs" / "questions.json", tmp_path)
    monkeypatch.setenv("MEDEVAL_YIER", "questions.json")
    return tmp_path


def test_evaluate_keeps_a_run_that_runs_and_scores_show(here: Path) -> None:
    report = medeval.evaluate("yier", "demo", n_iters=20)
    (run,) = (here / "runs").iterdir()
    kept = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    assert kept["task_scores"] == report.task_scores
    found = medeval.runs()
    assert found[["run", "task", "model", "headline"]].to_numpy().tolist() == [
        [run.name, "yier", "demo", "f1"]
    ]
    assert found["asked"].tolist() == found["answered"].tolist() == [8]
    rows = medeval.scores(run).set_index("metric")
    assert rows["value"].to_dict() == report.task_scores["yier"]
    assert rows.loc["f1", "is_headline"]
    assert rows.loc["f1", "low"] < rows.loc["f1", "value"]
    assert math.isnan(rows.loc["precision", "low"])
    assert medeval.scores().equals(medeval.scores(run))


def test_a_function_answers_with_options_and_a_limit(here: Path) -> None:
    asked = []

    def first_letter(messages: object) -> str:
        asked.append(messages)
        return '{"answer": ["A"]}'

    report = medeval.evaluate(
        "yier", first_letter, options={"samples": 2}, limit=3, n_iters=0, concurrency=2
    )
    assert len(asked) == 6
    assert report.model_id.endswith("first_letter")
    assert report.detailed_results[0].metadata["ledger"]["answered"] == 6


def test_credentialed_text_goes_to_no_function_that_is_not_declared(here: Path) -> None:
    questions = here / "questions.json"
    questions.write_text(questions.read_text().replace('"open"', '"credentialed"'))

    def never(messages: object) -> str:
        raise AssertionError("it was asked")

    refused("Credentialed text may not go to", medeval.evaluate, "yier", never)


def test_mistakes_are_said(here: Path) -> None:
    refused("has no option 'shot'", medeval.evaluate, "yier", "demo", options={"shot": 1})
    refused("not of a kind that judges grade", medeval.evaluate, "yier", "demo", judges=["local"])
    refused("limit is a whole number from 1", medeval.evaluate, "yier", "demo", limit=0)
    refused(r"asked: see medeval\.evaluate", medeval.score, "yier", [0, 1], [0.2, 0.8])
    refused("has no scores", medeval.scores, here)
    with pytest.raises(AttributeError, match="no attribute 'scor'"):
        medeval.scor  # noqa: B018
