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
        ("tasks", 0),
        ("no-such-command", 2),
        ("score --task yier nowhere", 2),
        ("run --task yier --model demo --questions broken.json", 2),
        ("report --help", 0),
    ],
)
def test_a_fork_ends_as_a_process_does(
    server: CommandServer, tmp_path: Path, words: str, code: int
) -> None:
    (tmp_path / "broken.json").write_text("[")
    env = {**os.environ, "COLUMNS": "300", "MEDEVAL_TEMP_DIR": str(tmp_path)}
    # What a fork is told is nothing to the next one.
    server.run(["models"], {**env, "MEDEVAL_TARGET": "no-such-target"}, tmp_path)
    done = server.run(words.split(), env, tmp_path)
    expected = subprocess.run(
        [sys.executable, "-m", "medeval", *words.split()],
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
    assert server.cpu_seconds > 0
