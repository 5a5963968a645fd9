"""Ended by Ctrl-C or by the system, a command keeps what it has and says how to go on."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT, run_medeval
from judging_runs import marker_of, verdict
from model_server import Body, ModelServer, Script, model_server, slow

from medeval.judging.rubric import shipped_rubric

KEY = "sk-planted-0123456789"
RUBRIC = shipped_rubric("summarization")
# Longer than any of these commands takes to end.
PATIENCE = 180.0


def task_file(folder: Path, count: int, more: str = "") -> Path:
    rows = "".join(
        f"  - {{input: {{document: case {number} has fever.}}, output: {{summary: fever.}}}}\n"
        for number in range(count)
    )
    path = folder / "own.yaml"
    path.write_text(
        "task_id: own\ntask_type: summarization\ndata_class: open\nmetrics: [rouge_l]\n"
        f"{more}dataset:\n{rows}",
        encoding="utf-8",
    )
    return path


def reply(body: Body) -> str:
    if not is_judge(body):
        return json.dumps({"summary": "fever"})
    return f"{marker_of(body)}\n{verdict(*[4] * len(RUBRIC.names), rubric=RUBRIC)}"


def is_judge(body: Body) -> bool:
    return str(body["model"]).startswith("judge")


def calls_of_judges(server: ModelServer) -> int:
    return sum(map(is_judge, server.seen.bodies))


def ended(
    args: list[str | Path],
    folder: Path,
    is_time: Callable[[], bool],
    by: signal.Signals = signal.SIGINT,
    times: int = 1,
    before: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Start a command, end it by a signal when it is time, and return how it ended."""
    out, err = folder / "stdout.txt", folder / "stderr.txt"
    with out.open("w") as stdout, err.open("w") as stderr:
        started = subprocess.Popen(
            [*before, sys.executable, "-m", "medeval", *map(str, args)],
            cwd=PROJECT_ROOT,
            env={**os.environ, "OWN_KEY": KEY, "PYTHONUNBUFFERED": "1"},
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            # Whoever runs the tests may have been started without a Ctrl-C of its own.
            preexec_fn=_with_ctrl_c,
        )
        try:
            limit = time.monotonic() + PATIENCE
            while not is_time():
                assert started.poll() is None, err.read_text()
                assert time.monotonic() < limit
                time.sleep(0.005)
            for _ in range(times):
                started.send_signal(by)
            code = started.wait(PATIENCE)
        finally:
            started.kill()
            started.wait()
    return subprocess.CompletedProcess(args, code, out.read_text(), err.read_text())


def _with_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def told(done: subprocess.CompletedProcess[str], code: int = 130) -> tuple[str, list[str]]:
    """Return how far the command was, and the words with which it goes on."""
    assert done.returncode == code, done.stderr
    assert KEY not in done.stdout + done.stderr
    # Before it stands only who was asked where.
    found = re.fullmatch(
        r"(?:medeval: \S+ at .*\n)*medeval: ended; (.*?); go on with `python -m medeval (.*)`\n",
        done.stderr,
    )
    assert found, done.stderr
    return found[1], shlex.split(found[2])


def gone_on(words: list[str]) -> subprocess.CompletedProcess[str]:
    done = run_medeval(*words, env={"OWN_KEY": KEY})
    assert done.returncode == 0, done.stderr
    return done


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def the_run(out: Path) -> Path:
    (folder,) = out.iterdir()
    return folder


@pytest.mark.parametrize(
    ("by", "code", "before"),
    [
        (signal.SIGINT, 130, ()),
        (signal.SIGTERM, 143, ()),
        # As a shell starts what runs in its background, and most batch systems.
        (signal.SIGTERM, 143, ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")),
    ],
)
def test_a_run_that_is_ended_says_how_far_it_is_and_goes_on_to_every_item_once(
    by: signal.Signals, code: int, before: tuple[str, ...], tmp_path: Path
) -> None:
    at_a_time = 4
    with model_server(Script(reply=reply, fault=lambda body, seen: slow(0.03))) as server:
        done = ended(
            ["run", "--task", task_file(tmp_path, 60), "--model", "m", "--base-url", server.url,
             "--key-variable", "OWN_KEY", "--concurrency", str(at_a_time), "--out",
             tmp_path / "runs"],
            tmp_path,
            lambda: server.seen.requests >= 20,
            by,
            before=before,
        )  # fmt: skip
        folder = the_run(tmp_path / "runs")
        kept = rows(folder / "responses.jsonl")
        far, words = told(done, code)
        assert 0 < len(kept) < 60
        assert far == f"{len(kept)} of 60 items are done"
        assert words == ["run", "--resume", str(folder), "--key-variable", "OWN_KEY"]
        assert server.seen.requests <= len(kept) + at_a_time
        since = server.seen.requests
        gone_on(words)
        assert server.seen.requests - since == 60 - len(kept)
    ends = Counter((row["item"], row["outcome"]) for row in rows(folder / "responses.jsonl"))
    assert ends == {(str(number), "answered"): 1 for number in range(60)}
    # What was kept is as it was.
    assert rows(folder / "responses.jsonl")[: len(kept)] == kept


@pytest.mark.slow
def test_ctrl_c_pressed_again_and_again_ends_no_worse(tmp_path: Path) -> None:
    with model_server(Script(reply=reply, fault=lambda body, seen: slow(0.03))) as server:
        done = ended(
            ["run", "--task", task_file(tmp_path, 60), "--model", "m", "--base-url", server.url,
             "--out", tmp_path / "runs", "--concurrency", "4"],
            tmp_path,
            lambda: server.seen.requests >= 8,
            times=5,
        )  # fmt: skip
        _, words = told(done)
        gone_on(words)
    assert len(rows(the_run(tmp_path / "runs") / "responses.jsonl")) == 60


@pytest.mark.slow
def test_nothing_is_asked_before_and_nothing_is_to_be_gone_on_with(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    code = tmp_path / "mine.py"
    code.write_text(
        f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep({PATIENCE})\n"
        "def answer(messages):\n    return ''\n"
    )
    done = ended(
        ["run", "--task", task_file(tmp_path, 3), "--model", f"{code}:answer", "--out",
         tmp_path / "runs"],
        tmp_path,
        begun.exists,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr == "medeval: ended; nothing was asked; start the same command again\n"
    assert not (tmp_path / "runs").exists()


def test_a_run_that_is_ended_while_its_answers_are_judged_goes_on_there(tmp_path: Path) -> None:
    file = task_file(tmp_path, 12, "judge: summarization\n")
    declared = tmp_path / "our endpoints.toml"
    declared.write_text("", encoding="utf-8")
    script = Script(reply=reply, fault=lambda body, seen: slow(0.1) if is_judge(body) else None)
    with model_server(script) as server:
        done = ended(
            ["run", "--task", file, "--model", "m", "--base-url", server.url, "--judge-model",
             "judge-a", "--judge-base-url", server.url, "--judge-api-key", KEY, "--concurrency",
             "1", "--endpoints", declared, "--out", tmp_path / "runs"],
            tmp_path,
            lambda: calls_of_judges(server) >= 4,
        )  # fmt: skip
        folder = the_run(tmp_path / "runs")
        kept = len(rows(folder / "judgments.jsonl"))
        far, words = told(done)
        assert 0 < kept < 12
        assert far == f"12 of 12 items are done, {kept} of 12 verdicts are kept"
        assert words == ["run", "--resume", str(folder), "--endpoints", str(declared)]
        # Until it goes on, its score says what it is made of.
        scored = run_medeval("score", "--task", file, folder)
        assert f"judge-a stopped with {kept} of 12 judged: It was ended from outside" in (
            scored.stderr
        )
        since = server.seen.requests
        gone_on(words)
        assert server.seen.requests - since == 12 - kept
    assert len(rows(folder / "judgments.jsonl")) == 12
    assert "stopped" not in run_medeval("score", "--task", file, folder).stderr


@pytest.mark.slow
def test_other_judges_that_are_ended_go_on_with_the_flags_that_named_them(tmp_path: Path) -> None:
    file = task_file(tmp_path, 12, "judge: summarization\n")
    first = ["--model", "demo", "--judge-model", "local", "--out", tmp_path / "runs"]
    assert run_medeval("run", "--task", file, *first).returncode == 0
    folder = the_run(tmp_path / "runs")
    with model_server(Script(reply=reply, fault=lambda body, seen: slow(0.1))) as server:
        named = [
            "--judge-model", "judge-a", "--judge-model", "judge-b", "--judge-base-url", server.url,
            "--jury", "median", "--concurrency", "2",
        ]  # fmt: skip
        done = ended(
            ["judge", folder, *named, "--judge-api-key", KEY],
            tmp_path,
            lambda: server.seen.requests >= 8,
        )
        far, words = told(done)
        kept = sum(len(rows(path)) for path in (folder / "judging-2").glob("judgments-*.jsonl"))
        assert 0 < kept < 24
        assert far == f"{kept} of 24 verdicts are kept"
        assert words == ["judge", str(folder), *named]
        since = server.seen.requests
        gone_on(words)
        assert server.seen.requests - since == 24 - kept
    for name in "ab":
        assert len(rows(folder / "judging-2" / f"judgments-judge-{name}.jsonl")) == 12


@pytest.mark.slow
def test_judges_that_are_ended_before_their_first_verdict_have_none(tmp_path: Path) -> None:
    file = task_file(tmp_path, 2, "judge: summarization\n")
    answered = ["--model", "demo", "--no-judge", "--out", tmp_path / "runs"]
    assert run_medeval("run", "--task", file, *answered).returncode == 0
    folder = the_run(tmp_path / "runs")
    with model_server(Script(fault=lambda body, seen: slow(PATIENCE))) as server:
        done = ended(
            ["judge", folder, "--judge-model", "judge-a", "--judge-base-url", server.url],
            tmp_path,
            lambda: server.seen.requests > 0,
        )
        far, _ = told(done)
    assert far == "0 of 2 verdicts are kept"


@pytest.mark.slow
def test_an_audit_that_is_ended_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    file = task_file(tmp_path, 6, "judge: summarization\n")
    answered = ["--model", "demo", "--no-judge", "--out", tmp_path / "runs"]
    assert run_medeval("run", "--task", file, *answered).returncode == 0
    folder = the_run(tmp_path / "runs")
    asked = [
        "judge-audit", str(folder), "--judge-model", "judge-a", "--judge-base-url",
        "http://127.0.0.1:1/v1", "--parts", "order,sanity", "--concurrency", "1",
    ]  # fmt: skip
    with model_server(Script(reply=reply, fault=lambda body, seen: slow(0.05))) as server:
        asked[5] = server.url
        done = ended([*asked, "--judge-api-key", KEY], tmp_path, lambda: server.seen.requests >= 10)
        far, words = told(done)
        kept = sum(len(rows(path)) for path in folder.rglob("judgments*.jsonl"))
        assert far == f"{kept} verdicts are kept"
        assert words == asked
        assert 6 < kept < 30  # beyond the answers themselves, within the parts
        since = server.seen.requests
        gone_on(words)
        # Six answers; each again in two orders; of each the reference and that of another.
        assert kept + server.seen.requests - since == 6 + 12 + 12
    assert (folder / "judge-audit.json").exists()


@pytest.mark.slow
def test_answers_that_are_being_read_in_are_named_again(tmp_path: Path) -> None:
    done = run_medeval(
        "run", "--task", task_file(tmp_path, 2), "--model", "m", "--base-url",
        "http://127.0.0.1:1/v1", "--export-prompts", tmp_path / "batch.jsonl", "--out",
        tmp_path / "runs",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = the_run(tmp_path / "runs")
    answers = tmp_path / "answers.jsonl"
    os.mkfifo(answers)  # nobody writes into it, so reading waits
    asked: list[str | Path] = ["run", "--resume", folder, "--import-answers", answers]
    done = ended(asked, tmp_path, lambda: f"run {folder}" in (tmp_path / "stdout.txt").read_text())
    far, words = told(done)
    assert far == "0 of 2 items are done"
    assert words == [str(word) for word in asked]


def test_ctrl_c_within_an_import_ends_as_elsewhere(tmp_path: Path) -> None:
    """Python ends by the signal itself where a text that it runs, as for a dataclass, is hit."""
    model = tmp_path / "model.py"
    model.write_text("def reply(messages):\n    exec('raise KeyboardInterrupt')\n")
    done = run_medeval(
        "run", "--task", task_file(tmp_path, 2), "--model", f"{model}:reply", "--out",
        tmp_path / "runs", "--concurrency", "1",
    )  # fmt: skip
    assert (done.returncode, told(done)[0]) == (130, "0 of 2 items are done")
