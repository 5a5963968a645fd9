"""Models behind a plain address: what is posted, what comes back, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tables import refused, table
from web_server import Page, WebServer, web_server

from medeval.evaluation.model_runner import ModelRunner, ModelStoppedWarning

Row = dict[str, Any]

TABLES = table("model_runner")
KEY = "sk-secret-0123456789"
ROWS = [{"question": f"question {number}"} for number in range(5)]
Respond = Callable[[str, Any], Page]


def label_all(_: str, batch: list[Any]) -> Page:
    return Page(body=[{"label": row["question"], "score": 0.5} for row in batch])


def api_runner(url: str, folder: Path, **given: Any) -> ModelRunner:
    runner = ModelRunner(folder=folder / "models", endpoints=folder / "endpoints.toml")
    parameters = {"endpoint": url, "api_key": KEY, "backoff_factor": 0.01, **given}
    runner.load_model("m", model_type="api", **parameters)
    return runner


def outputs_of(url: str, folder: Path, size: int, **given: Any) -> list[Any]:
    runner = api_runner(url, folder, **given)
    return runner.run_model("m", ROWS, batch_size=size, data_class="open")


def run(respond: Respond, folder: Path, size: int = 2, **given: Any) -> tuple[list[Any], WebServer]:
    """Run all rows against a server of their own; return the outputs and the server."""
    with web_server(respond) as server:
        return outputs_of(server.url, folder, size, **given), server


def labels(*numbers: int) -> list[Any]:
    return [{"label": f"question {number}", "score": 0.5} for number in numbers]


def test_batches_are_posted_with_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTED_KEY", KEY)
    for given in ({}, {"api_key": None, "key_variable": "TESTED_KEY"}, {"api_key": None}):
        outputs, server = run(label_all, tmp_path, headers={"X-Version": "3"}, **given)
        assert outputs == labels(0, 1, 2, 3, 4)
        assert [body for _, _, body in server.asked] == [ROWS[:2], ROWS[2:4], ROWS[4:]]
        for _, headers, _ in server.asked:
            # A server of this machine needs no key.
            has_key = given != {"api_key": None}
            assert headers.get("authorization") == (f"Bearer {KEY}" if has_key else None)
            assert headers["content-type"] == "application/json"
            assert headers["x-version"] == "3"
    lines = (tmp_path / "models" / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 9
    assert not any("question" in line for line in lines)


def test_an_output_that_is_no_mapping_is_a_label(tmp_path: Path) -> None:
    answers, due = TABLES["labels"].values()
    assert run(lambda _, batch: Page(body=answers), tmp_path, size=5)[0] == due


@pytest.mark.parametrize(("page", "error"), TABLES["batches"])
def test_a_failed_batch_moves_no_answer(tmp_path: Path, page: Row, error: Row) -> None:
    def second_fails(path: str, batch: list[Any]) -> Page:
        return Page(**page) if ROWS[2] in batch else label_all(path, batch)

    failed = {"error": {**error, "batch": 2}}
    outputs, _ = run(second_fails, tmp_path, max_retries=1)
    assert outputs == [*labels(0, 1), failed, failed, *labels(4)]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
@pytest.mark.parametrize("retries", [2, 1, 0])
def test_what_may_pass_is_tried_as_allowed(tmp_path: Path, status: int, retries: int) -> None:
    replies = iter([Page(status, ""), Page(status, ""), label_all("", ROWS)])
    outputs, server = run(lambda *_: next(replies), tmp_path, size=5, max_retries=retries)
    assert len(server.asked) == retries + 1
    if retries == 2:
        assert outputs == labels(0, 1, 2, 3, 4)
    else:
        assert [each["error"]["attempts"] for each in outputs] == [retries + 1] * 5


@pytest.mark.parametrize(("page", "asked", "reason"), TABLES["stops"])
def test_what_all_meet_stops_the_run(tmp_path: Path, page: Row, asked: int, reason: str) -> None:
    with pytest.warns(ModelStoppedWarning, match=reason):
        outputs, server = run(lambda *_: Page(**page), tmp_path)
    assert len(server.asked) == asked
    assert outputs[-1] == {"error": {"type": "not_asked", "attempts": 0}}


def test_no_connection_and_no_reply_in_time_are_told_apart(tmp_path: Path) -> None:
    outputs, server = run(lambda *_: Page(seconds=1.0), tmp_path, size=5, timeout=0.1)
    assert outputs[0]["error"]["type"] == "timeout"
    outputs = outputs_of(server.url, tmp_path, 5, max_retries=1)
    assert outputs[0]["error"]["type"] == "connection"
    assert outputs[0]["error"]["attempts"] == 2


def test_the_key_is_written_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key = "sk-pl/anted+KEY0123=="
    escaped = "".join(f"\\u{ord(each):04x}" for each in key)
    slashed = key.replace("/", chr(92) + "/")

    def echoes(_: str, batch: list[Any]) -> Page:
        if ROWS[0] in batch:
            return Page(400, {"error": {"code": key, "message": key}})
        return Page(body=f'["{escaped}", "key {slashed}"]' if len(batch) == 2 else [key])

    with web_server(echoes) as server:
        given = {"api_key": key, "headers": {"X-Secret": key}}
        outputs = outputs_of(server.url, tmp_path, 2, **given)
        runner = api_runner(server.url, tmp_path, **given)
        told = repr(
            runner.load_model({"name": "n", "type": "api", "endpoint": server.url, **given})
        )
    told += json.dumps([outputs, runner.model("m").settings]) + "".join(capfd.readouterr())
    assert [output["label"] for output in outputs[2:]] == ["[key]", "key [key]", "[key]"]
    assert key not in told
    (written,) = (path for path in tmp_path.rglob("*") if path.is_file())  # the audit
    assert key not in written.read_text(encoding="utf-8")


def test_what_cannot_be_posted_is_an_error_at_once(tmp_path: Path) -> None:
    runner = api_runner("http://127.0.0.1:9/x", tmp_path)
    refused("takes no options: top_p", runner.run_model, "m", ROWS, top_p=1, error=ValueError)
    rows = [{"value": float("nan")}]
    said = "cannot be posted as JSON"
    refused(said, runner.run_model, "m", rows, data_class="open", error=ValueError)
