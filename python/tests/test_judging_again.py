"""A run judged again: by whom, into which folder, and what is never lost or paid twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT, run_medeval
from judging_runs import marker_of, verdict
from model_server import (
    BAD_KEY,
    BAD_REQUEST,
    Body,
    Fault,
    ModelServer,
    Script,
    model_server,
    prompt_of,
    slow,
)

from medeval.judging.rubric import shipped_rubric

RUBRIC = shipped_rubric("summarization")
TASK = """\
task_id: own_summaries
task_type: summarization
data_class: open
judge: summarization
metrics: [rouge_l]
dataset:
"""


def is_judge(body: Body) -> bool:
    return str(body["model"]).startswith("judge")


def reply_of(body: Body) -> str:
    if not is_judge(body):
        return json.dumps({"summary": "Fever."})
    return f"{marker_of(body)}\n{verdict(*[4] * len(RUBRIC.names), rubric=RUBRIC)}"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(Script(reply=reply_of)) as running:
        yield running


@pytest.fixture
def task(tmp_path: Path) -> Path:
    file = tmp_path / "own.yaml"
    rows = "".join(
        f"  - {{input: {{document: case {number} has fever.}}, output: {{summary: Fever.}}}}\n"
        for number in range(4)
    )
    file.write_text(TASK + rows, encoding="utf-8")
    return file


@pytest.fixture
def folder(task: Path) -> Path:
    """A run of four answers that the built-in rule has judged."""
    return answered(task, "--model", "demo", "--judge-model", "local")


def answered(task: Path, *args: str, exit_code: int = 0) -> Path:
    runs = task.parent / "runs"
    done = run_medeval("run", "--task", task, *args, "--out", runs)
    assert done.returncode == exit_code, done.stderr
    (found,) = runs.iterdir()
    return found


def judge(folder: Path, server: ModelServer, *args: str) -> subprocess.CompletedProcess[str]:
    where = ["--judge-base-url", server.url] if "--judge-model" in args else []
    return run_medeval("judge", folder, *args, *where)


def judgings(folder: Path) -> list[tuple[list[str], str]]:
    """Return who judged a run and where, as its record says."""
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return [
        ([one["model"] for one in plan["judges"]], plan["folder"]) for plan in record["judgings"]
    ]


def scored(folder: Path, exit_code: int = 0) -> dict[str, Any]:
    done = run_medeval("score", "--task", folder.parent.parent / "own.yaml", folder)
    assert done.returncode == exit_code, done.stderr
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = report["detailed_results"][0]["metadata"]["judging"]
    return found


def test_a_judge_that_failed_keeps_no_other_from_judging(folder: Path, server: ModelServer) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return BAD_KEY if body["model"] == "judge-bad" else None

    server.script.fault = fault
    assert judge(folder, server, "--judge-model", "judge-bad").returncode == 1
    # It is not in the record, and its files are its own.
    assert judgings(folder) == [(["local"], ".")]
    assert judge(folder, server, "--judge-model", "judge-a").returncode == 0
    assert judgings(folder) == [(["local"], "."), (["judge-a"], "judging-3")]
    # The one that failed goes on where it was.
    server.script.fault = lambda body, before: None
    assert judge(folder, server, "--judge-model", "judge-bad").returncode == 0
    assert judgings(folder)[-1] == (["judge-bad"], "judging-2")
    assert [one["judge"] for one in scored(folder)["judges"]] == ["judge-bad"]


def killed_while_judging(folder: Path, server: ModelServer, least: int) -> None:
    """Judge one by one, and kill the process after some calls."""
    server.script.fault = lambda body, before: slow(0.3)
    process = subprocess.Popen(
        [
            sys.executable, "-m", "medeval", "judge", str(folder), "--judge-model", "judge-a",
            "--judge-base-url", server.url, "--concurrency", "1",
        ],
        cwd=PROJECT_ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    while server.seen.requests <= least:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    server.script.fault = lambda body, before: None


def test_a_judging_killed_before_its_first_verdict_takes_the_place_of_none(
    folder: Path, server: ModelServer
) -> None:
    killed_while_judging(folder, server, 0)
    assert judgings(folder)[-1] == (["judge-a"], "judging-2")
    assert [one["judge"] for one in scored(folder)["judges"]] == ["local"]
    assert judge(folder, server, "--judge-model", "judge-b").returncode == 0
    assert judgings(folder)[-1] == (["judge-b"], "judging-3")
    assert judge(folder, server, "--judge-model", "judge-a").returncode == 0
    assert judgings(folder)[-1] == (["judge-a"], "judging-2")


def test_the_same_judges_go_on_as_they_did_but_for_what_is_given(
    folder: Path, server: ModelServer
) -> None:
    jury = ["--judge-model", "judge-a", "--judge-model", "judge-b"]
    first = judge(folder, server, *jury, "--judge-repeats", "2", "--jury", "median")
    assert first.returncode == 0, first.stderr
    assert server.seen.requests == 16
    assert judge(folder, server, *jury).returncode == 0
    found = scored(folder)
    assert (found["repeats"], found["pooling"]) == (2, "median")
    assert judge(folder, server, *jury, "--jury", "mean").returncode == 0
    found = scored(folder)
    assert (found["repeats"], found["pooling"]) == (2, "mean")
    assert found["judges"][0]["judgments"] == 8
    assert found["judges"][0]["further_calls"]["asked"] == 0
    assert server.seen.requests == 16


def test_repeats_that_are_no_longer_wanted_are_still_told(
    folder: Path, server: ModelServer, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nmodel = "judge-a"\ninput = 1000\noutput = 1000\n')
    who = ["--judge-model", "judge-a"]
    more = judge(folder, server, *who, "--judge-repeats", "2", "--prices", str(prices))
    assert more.returncode == 0, more.stderr
    less = judge(folder, server, *who, "--judge-repeats", "1")
    assert "4 further verdicts are kept" in " ".join(less.stdout.split())
    (found,) = scored(folder)["judges"]
    # A call reads 100 tokens and writes 10: 0.11.
    assert (found["judgments"], found["cost"]) == (4, "0.44")
    assert found["further_calls"] == {"asked": 4, "cost": "0.44"}
    assert found["all_calls"]["cost"] == "0.88"


def test_the_variable_with_the_key_is_named_for_each_start(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sent(*args: str) -> str:
        server.seen.headers.clear()
        done = judge(folder, server, "--judge-model", "judge-a", *args)
        assert done.returncode == 0, done.stderr
        return str(server.seen.headers[-1]["authorization"])

    monkeypatch.setenv("ONE_KEY", "key-number-one")
    monkeypatch.setenv("OTHER_KEY", "key-number-two")
    assert sent("--judge-key-variable", "ONE_KEY") == "Bearer key-number-one"
    server.seen.headers.clear()
    unnamed = judge(folder, server, "--judge-model", "judge-a", "--judge-repeats", "2")
    assert (unnamed.returncode, server.seen.headers) == (2, [])
    assert "--judge-repeats 2 --judge-key-variable ONE_KEY`" in unnamed.stderr
    assert (
        sent("--judge-repeats", "2", "--judge-key-variable", "ONE_KEY") == "Bearer key-number-one"
    )
    again = sent("--judge-repeats", "3", "--judge-key-variable", "OTHER_KEY")
    assert again == "Bearer key-number-two"


def test_what_the_model_gave_no_answer_to_is_not_judged_and_says_why(
    task: Path, server: ModelServer
) -> None:
    def reply(body: Body) -> str | dict[str, Any]:
        if is_judge(body) or "case 0" in prompt_of(body):
            return reply_of(body)
        if "case 2" in prompt_of(body):
            return {"content": "", "refusal": "no"}
        return {"content": "", "finish_reason": "length"} if "case 3" in prompt_of(body) else ""

    def fault(body: Body, before: int) -> Fault | None:
        return BAD_REQUEST if not is_judge(body) and "case 1" in prompt_of(body) else None

    server.script.reply, server.script.fault = reply, fault
    judges = ["--judge-model", "judge-a", "--judge-base-url", server.url]
    folder = answered(task, "--model", "m", "--base-url", server.url, *judges, exit_code=1)
    found = scored(folder)
    assert (found["ok"], found["partial"], found["failed"]) == (1, 0, 0)
    assert found["not_judged"] == {"errored": 1, "refused": 1, "truncated": 1}


def test_answers_that_were_never_asked_for_are_no_verdicts(task: Path, server: ModelServer) -> None:
    def reply(body: Body) -> str:
        return "" if not is_judge(body) and "case 0" in prompt_of(body) else reply_of(body)

    server.script.reply = reply
    judges = ["--judge-model", "judge-a", "--judge-base-url", server.url]
    model = ["--model", "m", "--base-url", server.url]
    folder = answered(task, *model, *judges, "--limit", "2")
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps({**record, "limit": 4}), encoding="utf-8")
    found = scored(folder, exit_code=1)
    assert (found["ok"], found["failed"]) == (1, 0)
    assert found["not_judged"] == {"blank_answer": 1, "not_asked": 2}
    told = judge(folder, server)
    assert told.returncode == 0, told.stderr
    said = "3 answers were not judged and earn 0: 1 blank_answer, 2 not_asked"
    assert said in " ".join(told.stdout.split())


OWN_RUBRIC = """\
id: own
version: 1
role: You grade.
answer_name: summary
low: 0
low_means: bad
high: 3
high_means: good
dimensions:
- {name: brevity, description: it is short}
"""


@pytest.mark.parametrize(
    "change",
    [("high: 3", "high: 5"), ("it is short", "it is long"), ("name: brevity", "name: length")],
)
def test_verdicts_by_another_rubric_are_not_scored_and_not_gone_on_with(
    change: tuple[str, str], task: Path
) -> None:
    rubric = task.parent / "mine.yaml"
    rubric.write_text(OWN_RUBRIC, encoding="utf-8")
    own = task.read_text(encoding="utf-8").replace("judge: summarization", "judge: mine.yaml")
    task.write_text(own, encoding="utf-8")
    folder = answered(task, "--model", "demo", "--judge-model", "local")
    assert scored(folder)["rubric"] == "own-1"
    rubric.write_text(OWN_RUBRIC.replace(*change), encoding="utf-8")
    done = run_medeval("score", "--task", task, folder)
    assert (done.returncode, "of another prompt or rubric" in done.stderr) == (2, True)
    again = run_medeval("judge", folder)
    assert (again.returncode, "rubric_sha256 was" in again.stderr) == (2, True)
