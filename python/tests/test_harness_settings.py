"""Secrets are written nowhere, and what else a model was loaded with is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness_runs import BUNDLED, harness_for, questions
from model_server import Script, model_server

from medeval.evaluation.harness_settings import WITHHELD, model_settings
from medeval.evaluation.model_runner import ModelRunner

KEY = "sk-hidden-0123456789abcdef"


def test_secrets_are_in_neither_record_nor_key() -> None:
    given = {
        "api_key": KEY,
        "headers": {"X-Own": "own-value-0123", "Authorization": f"Bearer {KEY}"},
        "extra": {"token": "inner-token-99", "keep": 1, "note": f"uses {KEY}"},
        "endpoint": f"https://user:pass@host.example:8443/v1?key={KEY}&version=2#x",
        "max_tokens": 50,
        "stop": ["a", ("b",)],
    }
    found = model_settings("m", "api", given, {"endpoint": f"https://h/?api_key={KEY}"})
    text = json.dumps([found.recorded, found.decisive])
    for secret in (KEY, "own-value-0123", "inner-token-99", "user:pass"):
        assert secret not in text
    assert found.recorded["parameters"] == {
        "headers": {"Authorization": WITHHELD, "X-Own": WITHHELD},
        "extra": {"keep": 1, "note": f"uses {WITHHELD}"},
        "endpoint": "https://host.example:8443/v1?version=2",
        "max_tokens": 50,
        "stop": ["a", ["b"]],
    }
    assert (
        found.scrubbed(f"401 for {KEY} and own-value-0123") == f"401 for {WITHHELD} and {WITHHELD}"
    )
    other = model_settings("m", "api", {**given, "api_key": "sk-other-0123456789"}, {})
    assert other.decisive["parameters"].keys() == found.decisive["parameters"].keys()


def test_short_secrets_are_withheld_but_words_are_not_garbled() -> None:
    found = model_settings("m", "api", {"api_key": "none", "note": "nonetheless"}, {})
    assert found.recorded["parameters"] == {"note": "nonetheless"}
    assert found.scrubbed("none") == "none"


def test_files_of_a_model_are_part_of_what_decides(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "a.bin").write_bytes(b"1")
    given = {"model_path": weights, "module_path": "json.decoder"}

    def decisive() -> Any:
        return model_settings("m", "local", given, {}).decisive["files"]

    before = decisive()
    assert before == decisive()
    assert len(before["module_path"]) == 64
    (weights / "a.bin").write_bytes(b"12")
    assert decisive() != before
    file = tmp_path / "m.bin"
    file.write_bytes(b"1")
    given["model_path"] = file
    before = decisive()
    file.write_bytes(b"2")
    assert decisive() != before
    given["model_path"], given["module_path"] = tmp_path / "absent", "no.such.module"
    assert decisive() == {"model_path": None, "module_path": None}


def test_objects_are_recorded_by_their_class_and_make_no_key() -> None:
    found = model_settings("m", "interface", {"model": ModelRunner(), "n": 1}, {})
    assert found.recorded["parameters"]["model"] == "medeval.evaluation.model_runner.ModelRunner"
    assert found.opaque == ("model",)
    assert model_settings("m", "local", {"n": 1}, {}).opaque == ()
    assert model_settings("m", None, {}, {"type": "local"}).opaque == ("loaded before",)


def all_text(folder: Path) -> str:
    return "\n".join(
        path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()
    )


def test_the_key_of_an_endpoint_is_in_no_report_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTED_API_KEY", KEY)
    task = BUNDLED.load_task("clinical_qa_basic")
    script = Script(reply=lambda body: json.dumps({"answer": "pancreas"}))
    with (
        model_server(script) as server,
        harness_for(tmp_path, cache_dir=tmp_path / "cache") as harness,
    ):
        options: dict[str, Any] = {"key_variable": "TESTED_API_KEY", "max_tokens": 40, "seed": 3}
        report = harness.evaluate(
            "chat",
            [task.task_id],
            "openai",
            base_url=server.url,
            report_formats=["json", "yaml", "md", "csv", "html"],
            **options,
        )
        harness.evaluate("chat", [task.task_id], "openai", base_url=server.url, **options)
        assert server.seen.requests == len(task.inputs)
    assert report.task_scores[task.task_id]["accuracy"] == 0.2
    result = report.detailed_results[0]
    assert result.metadata["outcomes"]["answered"] == 5
    assert len(result.metadata["measured"]) == 5
    assert all(one["usage"] for one in result.metadata["measured"])
    assert report.metadata["prompt_version"]
    assert report.metadata["model"]["parameters"]["max_tokens"] == 40
    assert KEY not in report.to_json() + all_text(tmp_path)


def test_an_api_key_is_in_no_report_and_no_file_also_when_the_task_fails(tmp_path: Path) -> None:
    class Quoting(ModelRunner):
        def run_model(self, *given: Any, **more: Any) -> list[dict[str, Any]]:
            raise ConnectionError(f"401: Bearer {KEY} is not known")

    runner = Quoting(folder=tmp_path / "models")
    with harness_for(tmp_path, questions(2), runner=runner) as harness:
        report = harness.evaluate(
            "m",
            ["questions"],
            "api",
            endpoint="http://127.0.0.1:9/x",
            api_key=KEY,
            report_formats=["html"],
        )
    error = report.detailed_results[0].metadata["error"]
    assert error == {
        "type": "ConnectionError",
        "message": f"401: Bearer {WITHHELD} is not known",
    }
    assert KEY not in report.to_json() + all_text(tmp_path)
