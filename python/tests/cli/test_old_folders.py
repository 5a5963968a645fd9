"""Answers of a model that an earlier version of the harness kept are not asked for again."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_server import Script, model_server
from scenario_runner import copy_recorded

from medeval.evaluation.harness import EvaluationHarness
from medeval.evaluation.model_runner import ModelRunner


def test_old_answers_are_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_recorded("harness_done", tmp_path)
    monkeypatch.chdir(tmp_path)
    with model_server(
        Script(reply=lambda body: '{"summary": "Fever."}'), address=("127.83.12.5", 8084)
    ) as server:
        runner = ModelRunner(folder="models")
        runner.load_model("m", "openai", base_url=server.url)
        harness = EvaluationHarness("tasks", "results", "cache", runner=runner, draws=20)
        report = harness.evaluate("m", ["own_summaries"])
    assert server.seen.requests == 1
    assert [path.name for path in (tmp_path / "models").iterdir() if path.is_dir()] == [
        "m-1bfde4d9fe9bd555"
    ]
    assert report.metadata["outcomes"]["answered"] == 3
