"""Run a command in a process of its own and measure the whole of it."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from pydantic import BaseModel

POLL_SECONDS = 0.1
MEGABYTE = 1e6
# What could point a measured command at the user's own data, database or dbt settings.
SETTINGS = ("MEDEVAL_", "PG", "DBT_")


class Usage(BaseModel, frozen=True):
    """What a command used, from its start to its end.

    `peak_mb` is the larger of the maximum resident set that the kernel kept of any one process and
    of the sum over the process tree, looked at ten times a second. `spill_mb` is the most seen in
    the watched folder.
    """

    wall_s: float
    user_s: float
    system_s: float
    peak_mb: float
    spill_mb: float = 0.0

    def then(self, other: Usage) -> Usage:
        """Return the use of two commands, one after the other."""
        return Usage(
            wall_s=self.wall_s + other.wall_s,
            user_s=self.user_s + other.user_s,
            system_s=self.system_s + other.system_s,
            peak_mb=max(self.peak_mb, other.peak_mb),
            spill_mb=max(self.spill_mb, other.spill_mb),
        )


class CommandFailedError(Exception):
    """A measured command ended with an error; its last lines say which."""


def measure(
    command: Sequence[str | Path],
    folder: Path,
    settings: Mapping[str, str | Path] | None = None,
    watched: Path | None = None,
) -> Usage:
    """Run a command in a folder and measure it, its children included.

    Args:
        command: program and arguments.
        folder: where it runs.
        settings: added to an environment that has none of `SETTINGS`.
        watched: a folder whose size is looked at while the command runs.

    Raises:
        CommandFailedError: it ended with another status than 0.
    """
    start = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603  the benchmark's own commands
        [str(word) for word in command],
        cwd=folder,
        env=clean_environment(settings or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        with _watching(process.pid, watched) as peaks:
            assert process.stdout  # noqa: S101  it is a pipe
            output = process.stdout.read()
            # Unlike getrusage(RUSAGE_CHILDREN) this is of the one child, with its children.
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
    except BaseException:
        process.kill()
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        words = " ".join(map(str, command))
        raise CommandFailedError(f"`{words}` ended with {process.returncode}:\n{output[-2000:]}")
    # A child's maximum starts from what its parent held at the fork: this process stays small.
    return Usage(
        wall_s=wall,
        user_s=used.ru_utime,
        system_s=used.ru_stime,
        peak_mb=max(used.ru_maxrss * 1024, peaks["memory"]) / MEGABYTE,
        spill_mb=peaks["folder"] / MEGABYTE,
    )


def clean_environment(settings: Mapping[str, str | Path]) -> dict[str, str]:
    """Return this environment without what would change a measured command, and the settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    return {**kept, **{name: str(value) for name, value in settings.items()}}


@contextmanager
def _watching(pid: int, folder: Path | None) -> Iterator[dict[str, int]]:
    """Keep the largest memory of a process tree and the largest size of a folder."""
    peaks = {"memory": 0, "folder": 0}
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(POLL_SECONDS):
            peaks["memory"] = max(peaks["memory"], tree_memory(pid))
            if folder is not None:
                peaks["folder"] = max(peaks["folder"], folder_size(folder))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()


def tree_memory(pid: int) -> int:
    """Return the resident bytes of a process and all below it; 0 when it has ended."""
    total = 0
    try:
        process = psutil.Process(pid)
        tree = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0
    for member in tree:
        try:
            total += member.memory_info().rss
        except psutil.Error:
            continue
    return total


def folder_size(folder: Path) -> int:
    """Return the bytes that the files of a folder take on disk; they may vanish meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:
            continue
    return total
