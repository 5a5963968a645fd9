"""Two ways of asking the same endpoint, ours and a bare loop: how they are run and compared."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

from benchmarks.asking_process import ASKED
from benchmarks.command_line import Say
from benchmarks.commands import ROOT
from benchmarks.processes import Usage, measure

PACKAGES = ("medeval", "openai", "httpx2")
OURS, LOOP = "ours", "loop"


class Asked(BaseModel, frozen=True):
    """One run of one way: what the asking took, and the whole process."""

    wall_s: float
    cpu_s: float
    usage: Usage


Run = TypeVar("Run", bound=Asked)


@dataclass(frozen=True)
class Programs(Generic[Run]):
    """The programs of one benchmark: an endpoint, and both ways of asking it.

    Attributes:
        module: that holds them.
        result: what is read of a run.
    """

    module: str
    result: type[Run]

    def command(self, *words: str | Path) -> list[str | Path]:
        """Return the command of one program."""
        return [sys.executable, "-m", self.module, *words]

    @contextmanager
    def endpoint(self, milliseconds: int, limit: int = 0) -> Iterator[tuple[str, list[int]]]:
        """Run the server in a process of its own.

        Yields:
            Its address, and a list that holds the number of refused calls when it has ended.
        """
        refused: list[int] = []
        process = subprocess.Popen(  # noqa: S603  the benchmark's own command
            self.command("serve", str(milliseconds), str(limit)),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout  # noqa: S101  it is a pipe
            yield process.stdout.readline().strip(), refused
        finally:
            refused.append(int(process.communicate()[0]))

    def asked(self, kind: str, url: str, count: int, concurrency: int) -> Run:
        """Measure one way of asking, in a process of its own."""
        with tempfile.TemporaryDirectory(prefix="medeval-bench-") as folder:
            words = self.command(kind, url, str(count), str(concurrency), folder)
            usage = measure(words, ROOT)
            took = json.loads((Path(folder) / ASKED).read_text(encoding="utf-8"))
        return self.result(**took, usage=usage)

    def in_turns(
        self, milliseconds: int, count: int, concurrency: int, runs: int, say: Say
    ) -> dict[str, list[Run]]:
        """Measure both ways in turns, so that what else happens meets both."""
        found: dict[str, list[Run]] = {OURS: [], LOOP: []}
        with self.endpoint(milliseconds) as (url, _):
            for number in range(1, runs + 1):
                for kind, taken in found.items():
                    taken.append(self.asked(kind, url, count, concurrency))
                    took = taken[-1]
                    say(f"{kind}, run {number}: {took.wall_s:.2f} s, CPU {took.cpu_s:.2f} s")
        return found


def comparison(
    runs: Mapping[str, Sequence[Asked]], names: Mapping[str, str], calls: int
) -> list[Sequence[str]]:
    """Return a row for the best of each way, and one of their ratios.

    Args:
        runs: of both ways.
        names: of both ways.
        calls: in each run.
    """
    best = {
        kind: (min(run.wall_s for run in taken), min(run.cpu_s for run in taken))
        for kind, taken in runs.items()
    }
    rows: list[Sequence[str]] = [
        [names[kind], f"{wall:.2f}", f"{cpu:.2f}", f"{cpu / calls * 1000:.2f}"]
        for kind, (wall, cpu) in best.items()
    ]
    ratios = [f"{mine / theirs:.2f}" for mine, theirs in zip(best[OURS], best[LOOP], strict=True)]
    return [*rows, ["ours / loop", *ratios, ""]]
