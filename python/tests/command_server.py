"""`python -m medeval` in forks of a process that has loaded the package, which saves a second each.

A command has its own process, folder, environment and exit code. What it shares with others is what
Python decides once at its start: the seed of hashes, and what PYTHON* variables say.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

# The plugin of dbt is no part of a command.
# The runners of others take seconds to load, and no command needs them.
NOT_LOADED = ("medeval.__main__", "medeval.duckdb_files", "medeval.adapters")


class CommandServer:
    """The process, as those see it who have commands run; the default runs those of medeval."""

    def __init__(self, *script: str, env: Mapping[str, str] | None = None) -> None:
        self.cpu_seconds = 0.0
        self._script = script or (__file__,)
        self._env = {**os.environ, **(env or {})}
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, command: list[str], env: Mapping[str, str], cwd: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, given by its words, to its end."""
        with self._lock, TemporaryDirectory() as folder:
            told, said = Path(folder, "stdout"), Path(folder, "stderr")
            asked = {
                "command": command,
                "env": dict(env),
                "cwd": str(cwd),
                "files": [str(told), str(said)],
            }
            server = self._started()
            assert server.stdin
            assert server.stdout
            server.stdin.write(json.dumps(asked) + "\n")
            server.stdin.flush()
            code, seconds = server.stdout.readline().split()
            self.cpu_seconds += float(seconds)
            return subprocess.CompletedProcess(
                command, int(code), told.read_text(), said.read_text()
            )

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, *self._script],
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._process


def _load() -> None:
    import medeval

    for module in pkgutil.walk_packages(medeval.__path__, "medeval."):
        if module.name.startswith(NOT_LOADED):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as absent:
            # What an extra brings need not be there.
            if (absent.name or "").startswith("medeval"):
                raise


def wait_for_a_command() -> None:
    """Return in a new process for each command, with its words, folder, environment and files."""
    # Else each fork goes through all that is loaded, and copies it, when it ends.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        asked = json.loads(line)
        if child := os.fork():
            _, status, used = os.wait4(child, 0)
            print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, flush=True)
            continue
        for number, name in enumerate([os.devnull, *asked["files"]]):
            opened = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        time.tzset()
        sys.path[0] = asked["cwd"]
        sys.argv = ["medeval", *asked["command"]]
        return
    sys.exit()


if __name__ == "__main__":
    _load()
    wait_for_a_command()
    runpy.run_module("medeval", run_name="__main__", alter_sys=True)
