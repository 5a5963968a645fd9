"""Commands in forks of one process say and do what they do in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_server import CommandServer


@pytest.fixture(scope="module")
def server() -> Iterator[CommandServer]:
    server = CommandServer()
    yield server
    server.close()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["tasks"], 0),
        (["models"], 0),
        (["no-such-command"], 2),
        (["score", "--task", "yier", "nowhere"], 2),
        (["run", "--task", "yier", "--model", "demo", "--questions", "no JSON"], 2),
        (["report", "--help"], 0),
    ],
    ids=["tasks", "models", "no command", "no run", "no file of questions", "help"],
)
def test_a_fork_ends_as_a_process_does(
    server: CommandServer, tmp_path: Path, words: list[str], code: int
) -> None:
    (tmp_path / "no JSON").write_text("[")
    (tmp_path / "endpoints.toml").write_text(
        '[[endpoint]]\nbase_url = "http://127.0.0.1:1/v1"\nruns_locally = true\n'
    )
    env = {**os.environ, "COLUMNS": "300", "MEDEVAL_TEMP_DIR": str(tmp_path)}
    done = server.run(words, env, tmp_path)
    expected = subprocess.run(
        [sys.executable, "-m", "medeval", *words],
        env=env,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )
    assert done.returncode == code
    assert done.stdout + done.stderr


def test_a_fork_leaves_the_next_one_nothing(server: CommandServer, tmp_path: Path) -> None:
    env = dict(os.environ)
    failed = server.run(["models"], {**env, "MEDEVAL_TARGET": "no-such-target"}, tmp_path)
    shown = server.run(["models"], env, Path.cwd())
    again = server.run(["models"], env, Path.cwd())
    assert failed.stdout + failed.stderr
    assert (shown.returncode, shown.stdout) == (again.returncode, again.stdout)
    assert server.cpu_seconds > 0
