"""Run a command in a process of its own and measure the whole of it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The baselines that make the same tables, which tests compare with ours.
ORACLES = ROOT / "python" / "tests" / "oracles"
POLL_SECONDS = 0.1
MEGABYTE = 1e6
# What could point a measured command at the user's own data, database or dbt settings.
SETTINGS = ("MEDEVAL_", "PG", "DBT_")

Word = str | Path | int


class CommandFailedError(Exception):
    """A measured command ended with an error, or the ways that are compared differ."""


@dataclass(frozen=True)
class Usage:
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

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s ({self.user_s:.1f} s user CPU), {self.peak_mb:,.0f} MB"

    def then(self, other: Usage) -> Usage:
        """Return the use of two commands, one after the other."""
        return Usage(
            self.wall_s + other.wall_s,
            self.user_s + other.user_s,
            self.system_s + other.system_s,
            max(self.peak_mb, other.peak_mb),
            max(self.spill_mb, other.spill_mb),
        )


def measure(
    command: Sequence[Word],
    settings: Mapping[str, str | Path] | None = None,
    watched: Path | None = None,
) -> Usage:
    """Run a command in the project's folder and measure it, its children included.

    Args:
        command: program and arguments.
        settings: added to an environment that has none of `SETTINGS`.
        watched: a folder whose size is looked at while the command runs.

    Raises:
        CommandFailedError: it ended with another status than 0.
    """
    words = [str(word) for word in command]
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603  the benchmark's own commands
        words,
        cwd=ROOT,
        env=clean_environment(settings or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
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
        told = output[-2000:].decode(errors="replace")
        raise CommandFailedError(f"`{' '.join(words)}` ended with {process.returncode}:\n{told}")
    # A child's maximum starts from that of its parent, which says nothing of it.
    most = used.ru_maxrss * 1024 if used.ru_maxrss > held else 0
    memory = max(most, peaks["memory"]) / MEGABYTE
    return Usage(wall, used.ru_utime, used.ru_stime, memory, peaks["folder"] / MEGABYTE)


def function(place: str, *words: Word, settings: Mapping[str, str | Path] | None = None) -> Usage:
    """Measure a call of a function in a process of its own; see `function_command`."""
    return measure(function_command(place, *words), settings)


def function_command(place: str, *words: Word) -> list[Word]:
    """Return the command that calls a function, such as `benchmarks.copies:make`, with texts."""
    module, name = place.split(":")
    return [sys.executable, "-c", f"import sys, {module} as m; m.{name}(*sys.argv[1:])", *words]


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
            peaks["memory"] = max(peaks["memory"], _tree_memory(pid))
            if folder is not None:
                peaks["folder"] = max(peaks["folder"], _folder_size(folder))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()


def _tree_memory(pid: int) -> int:
    """Return the resident bytes of a process and all below it, of those that have not ended."""
    import psutil

    total = 0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in [process, *process.children(recursive=True)]:
            with suppress(psutil.Error):
                total += member.memory_info().rss
    return total


def _folder_size(folder: Path) -> int:
    """Return the bytes that the files of a folder take on disk; they may vanish meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):  # passes over a folder that is gone
        for name in names:
            with suppress(OSError):
                total += Path(place, name).stat().st_blocks * 512
    return total
