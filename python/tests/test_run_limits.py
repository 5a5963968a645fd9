"""`run`: what a start may change of a run, limits on cost that hold, and what a refusal leaves."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commands import folder_of, run_medeval, run_task
from inference_runs import lines
from model_server import BROKEN_JSON, Body, Script, model_server
from scripted_questions import questions_file

from medeval.inference.journal import Journal

ENDPOINT = "https://models.example.org/v1"


def prices_file(folder: Path) -> Path:
    path = folder / "prices.toml"
    path.write_text('[[price]]\nmodel = "m"\ninput = 0\noutput = 10000\n')
    return path


def record(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return read


def resumed(folder: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    return run_medeval("run", "--resume", folder, *args)


def test_a_start_that_is_refused_changes_nothing_of_the_run(tmp_path: Path) -> None:
    prices = prices_file(tmp_path)
    with model_server(Script(reply=lambda body: "A")) as server:
        folder = folder_of(
            run_task(
                tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url,
                "--questions", questions_file(tmp_path, 3), "--limit", "2", "--max-tokens", "20",
            )
        )  # fmt: skip
        before = record(folder)
        assert before["limit"] == 2
        with Journal(folder / "responses.jsonl"):  # as if it were still going
            held = resumed(folder, "--limit", "1", "--max-cost", "5", "--prices", prices)
        assert held.returncode == 2
        assert "Another run is writing" in held.stderr
        assert record(folder) == before
        for given in (["--max-cost", "5"], ["--prices", tmp_path / "none.toml"]):
            assert resumed(folder, *given).returncode == 2
            assert record(folder) == before
        assert resumed(folder).returncode == 0
        # A limit that was taken is kept, and can be lifted again.
        assert resumed(folder, "--max-cost", "5", "--prices", prices).returncode == 0
        assert record(folder)["max_cost"] == "5"
        assert resumed(folder, "--max-cost", "none").returncode == 0
        assert record(folder)["max_cost"] == ""
        assert record(folder)["limit"] == 2


def test_a_limit_is_of_all_starts_and_what_nobody_knows_is_not_shown_as_0(tmp_path: Path) -> None:
    with model_server(Script(lambda body, before: BROKEN_JSON)) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 2), "--prices", prices_file(tmp_path), "--max-cost", "0.5",
            "--max-tokens", "20", "--concurrency", "1",
        )  # fmt: skip
        assert done.returncode == 1
        assert server.seen.requests == 2
        assert re.search(r"0 USD and 2\s+calls of unknown cost", done.stdout), done.stdout
        again = resumed(folder_of(done))
        assert again.returncode == 1
        assert "the limit of 0.5, of which 0.4 is spent" in again.stderr
        assert server.seen.requests == 2


def answers_file(path: Path, asked: Sequence[dict[str, Any]], status: int) -> Path:
    choice = {"message": {"content": '{"answer": ["A"]}'}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    body = {"choices": [choice], "usage": usage} if status == 200 else {"error": {"message": "no"}}
    response = {"status_code": status, "body": body}
    path.write_text(
        "".join(
            json.dumps({"custom_id": line["custom_id"], "response": response}) + "\n"
            for line in asked
        )
    )
    return path


def test_failed_answers_of_a_batch_are_told_and_mended_by_good_ones(tmp_path: Path) -> None:
    batch, prices = tmp_path / "batch.jsonl", prices_file(tmp_path)
    folder = folder_of(
        run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", ENDPOINT, "--questions",
            questions_file(tmp_path, 3), "--export-prompts", batch, "--prices", prices,
        )
    )  # fmt: skip
    asked = [json.loads(line) for line in batch.read_text(encoding="utf-8").splitlines()]
    failed = answers_file(tmp_path / "failed.jsonl", asked, 500)
    came = resumed(folder, "--import-answers", failed)
    assert came.returncode == 1
    assert "errored: server" in came.stdout
    assert "3 items have no reply" in came.stderr
    good = answers_file(tmp_path / "good.jsonl", asked[:2], 200)
    came = resumed(folder, "--import-answers", good)
    assert came.returncode == 1
    assert "2 answers are new, 0 were there already" in came.stdout
    assert re.search(r"cost\W+0\.2 USD", came.stdout), came.stdout
    # Failures take the place of nothing.
    assert resumed(folder, "--import-answers", failed).returncode == 1
    outcomes = {line["item"]: line["outcome"] for line in lines(folder)}
    assert outcomes == {"q0": "answered", "q1": "answered", "q2": "errored"}
    last = answers_file(tmp_path / "last.jsonl", asked[2:], 200)
    came = resumed(folder, "--import-answers", last)
    assert came.returncode == 0, came.stderr
    assert "have no answer" not in came.stderr


def test_a_line_of_a_batch_that_is_nested_without_end_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_text("[" * 100_000 + "\n")
    done = run_task(
        tmp_path / "runs", "--task", "yier", "--model", "m", "--base-url", ENDPOINT,
        "--import-answers", tmp_path / "deep.jsonl",
    )  # fmt: skip
    assert done.returncode == 2
    assert "deep.jsonl, line 1: not a line of a batch" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_the_name_of_a_folder_is_not_longer_than_a_disk_takes(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m" * 300, "--base-url", server.url, "--limit",
            "1",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(folder_of(done).name) < 120


def test_the_model_and_its_judges_share_one_limit(tmp_path: Path) -> None:
    task = tmp_path / "own.yaml"
    task.write_text(
        "schema_version: 1\ntask_id: own\ntask_type: summarization\ndata_class: open\n"
        "description: Summarize a note.\nmetrics: [rouge_l]\njudge: summarization\ndataset:\n"
        "  - input: {document: chest pain}\n    output: {summary: pain}\n"
    )

    def reply(body: Body) -> str:
        return "pain"

    prices = tmp_path / "prices.toml"
    prices.write_text(
        '[[price]]\nmodel = "m"\ninput = 0\noutput = 10000\n'
        '[[price]]\nmodel = "j"\ninput = 0\noutput = 1000000\n'
    )
    with model_server(Script(reply=reply)) as server:
        done = run_task(
            tmp_path, "--task", task, "--model", "m", "--base-url", server.url, "--prices", prices,
            "--max-tokens", "20", "--max-cost", "1.7", "--judge-model", "j", "--judge-base-url",
            server.url,
        )  # fmt: skip
        assert server.seen.requests == 1
        assert done.returncode == 1, done.stderr
        told = re.sub(r"\s+", " ", done.stdout + done.stderr)
        assert "the limit of 1.7, of which 0.1 is spent" in told, told
