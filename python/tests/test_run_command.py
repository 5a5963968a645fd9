"""`run`: a task put to a model, from the command line to the journal and on to the score."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from commands import run_medeval
from model_server import (
    Body,
    Script,
    model_server,
)

PLANTED = "PATIENT-NAMED-XANTHIPPE"
CREDENTIALED = f"""
schema_version: 1
task_id: own_notes
task_type: summarization
description: Summarize a note.
metrics: [rouge_l]
dataset:
  - input: {{document: "{PLANTED} came with chest pain."}}
    output: {{summary: "chest pain"}}
"""


def run_task(out: Path, *args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run_medeval("run", "--out", out, *args, env=env)


def folder_of(done: subprocess.CompletedProcess[str]) -> Path:
    found = re.search(r"^run (.+)$", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return Path(found[1])


def test_with_samples_that_differ_an_item_has_their_mean(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(
        "task_id: seeds\ntask_type: qa\ndata_class: open\nmetrics: [accuracy]\ndataset:\n"
        "  - {input: {question: alpha}, output: {answer: 'yes'}}\n"
        "  - {input: {question: omega}, output: {answer: 'yes'}}\n"
    )

    def reply(body: Body) -> str:
        first = "alpha" in json.dumps(body["messages"])
        return json.dumps({"answer": "yes" if first or body["seed"] == 7 else "no"})

    with model_server(Script(reply=reply)) as server:
        done = run_task(
            tmp_path, "--task", file, "--model", "m", "--base-url", server.url, "--samples", "4",
            "--model-seed", "6",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    assert run_medeval("score", "--task", file, folder).returncode == 0
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    result = report["detailed_results"][0]
    assert result["item_scores"]["accuracy"] == [1.0, 0.25]
    assert result["metrics_results"]["accuracy"] == pytest.approx(0.625)
    assert result["intervals"]["accuracy"]["n"] == 2


def test_credentialed_text_goes_to_no_undeclared_endpoint(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(CREDENTIALED)
    with model_server() as server:
        asked = ["--task", file, "--model", "m", "--base-url", server.url]
        done = run_task(tmp_path, *asked, "--endpoints", tmp_path / "none.toml")
        assert done.returncode == 2
        assert "Nothing was sent" in done.stderr
        assert server.seen.connections == 0
        batch = tmp_path / "batch.jsonl"
        refused = run_task(tmp_path, *asked, "--export-prompts", batch)
        assert refused.returncode == 2
        assert not batch.exists()
        declared = tmp_path / "endpoints.toml"
        declared.write_text(f'[[endpoint]]\nbase_url = "{server.url}"\nruns_locally = true\n')
        allowed = run_task(tmp_path, *asked, "--endpoints", declared)
        assert allowed.returncode == 0, allowed.stderr
        assert server.seen.requests == 1
    folder = folder_of(allowed)
    scored = run_medeval("score", "--task", file, folder)
    assert scored.returncode == 0, scored.stderr
    # The note itself is in no record, log or report, of the refused run neither.
    for path in tmp_path.rglob("*"):
        if path.is_file() and path != file:
            assert PLANTED not in path.read_text(encoding="utf-8"), path
    for shown in (done, refused, allowed, scored):
        assert PLANTED not in shown.stdout + shown.stderr


def test_a_key_is_sent_and_written_nowhere(tmp_path: Path) -> None:
    key = "sk-planted-0123456789"
    with model_server(Script(reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--limit", "2",
            "--key-variable", "MY_KEY", MY_KEY=key,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert server.seen.headers[0]["authorization"] == f"Bearer {key}"
        again = [
            "run",
            "--resume",
            str(folder_of(done)),
            "--limit",
            "3",
            "--key-variable",
            "MY_KEY",
        ]
        resumed = run_medeval(*again, env={"MY_KEY": key})
        assert resumed.returncode == 0, resumed.stderr
        assert server.seen.headers[-1]["authorization"] == f"Bearer {key}"
        missing = run_medeval(*again)
        assert missing.returncode == 2
        assert "MY_KEY is not set" in missing.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert key not in path.read_text(encoding="utf-8")
    assert key not in done.stdout + done.stderr


def test_the_key_of_one_address_goes_to_no_other(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--limit", "1",
            OPENAI_API_KEY="sk-of-another-house",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "sk-of-another-house" not in str(server.seen.headers)


@pytest.mark.parametrize("task_id", ["x/../../../escaped/y", "a/b c"])
def test_no_name_of_a_task_leads_out_of_the_folder_of_runs(tmp_path: Path, task_id: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        f"task_id: {json.dumps(task_id)}\ntask_type: qa\ndata_class: open\nmetrics: [accuracy]\n"
        "dataset:\n  - {input: {question: one}, output: {answer: 'yes'}}\n"
    )
    done = run_task(tmp_path / "runs", "--task", file, "--model", "demo")
    folder = folder_of(done)
    assert folder.parent == tmp_path / "runs"
    # What the run tells to do next works as it stands.
    assert run_medeval("score", "--task", file, folder).returncode == 0
    moved = file.rename(tmp_path / "moved.yaml")
    assert run_medeval("score", "--task", moved, folder).returncode == 0


@pytest.mark.parametrize("name", ["api_key", "extra_headers", "Authorization", "base_url"])
def test_a_key_among_the_parameters_is_refused(tmp_path: Path, name: str) -> None:
    with model_server() as server:
        done = run_task(
            tmp_path / "runs", "--task", "yier", "--model", "m", "--base-url", server.url,
            "--parameters", json.dumps({name: "sk-planted"}),
        )  # fmt: skip
        assert done.returncode == 2
        assert server.seen.connections == 0
    assert "sk-planted" not in done.stdout + done.stderr
    assert not (tmp_path / "runs").exists()
