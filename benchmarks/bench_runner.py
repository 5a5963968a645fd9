"""What a run adds to the client it stands on: time, CPU and memory beside a plain loop.

python -m benchmarks.bench_runner                                    # both parts
python -m benchmarks.bench_runner --only speed --runs 5              # one; the other is kept
python -m benchmarks.bench_runner --write docs/performance_runner.md
python -m benchmarks.bench_runner --render --write docs/performance_runner.md   # no measuring
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.commands import ROOT
from benchmarks.processes import CommandFailedError, measure
from benchmarks.results import replace_text
from benchmarks.runner_results import (
    ASKED,
    LOOP,
    OURS,
    Asked,
    Memory,
    Results,
    Size,
    Speed,
    here,
    markdown,
    sections,
)

PROGRAM = [sys.executable, "-m", "benchmarks.runner_process"]
SPEED, MEMORY = "speed", "memory"


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_runner",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--only", choices=[SPEED, MEMORY], help="measure this part; the other is kept")
    add("--requests", type=int, default=1000, help="of the speed part (default: 1000)")
    add("--reply-ms", type=int, default=50, help="of the speed part's endpoint (default: 50)")
    add("--concurrency", type=int, default=64, help="under way at a time (default: 64)")
    add("--runs", type=int, default=5, help="of each way, the best counts (default: 5)")
    add("--few", type=int, default=5_000, help="items of the memory part (default: 5000)")
    add("--many", type=int, default=50_000, help="and the larger number (default: 50000)")
    add("--write", type=Path, metavar="FILE", help="write the page of all kept results")
    add("--render", action="store_true", help="show the kept results, measure nothing")
    arguments = parser.parse_args(words)
    if min(arguments.requests, arguments.concurrency, arguments.runs, arguments.few) < 1:
        parser.error("requests, items, concurrency and runs are counted from 1")
    if arguments.many <= arguments.few:
        parser.error("--many must be more than --few")
    return arguments


@contextmanager
def endpoint(milliseconds: int) -> Iterator[str]:
    """Run the server in a process of its own and give its address."""
    process = subprocess.Popen(  # noqa: S603  the benchmark's own command
        [*PROGRAM, "serve", str(milliseconds)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout  # noqa: S101  it is a pipe
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


def asked(kind: str, url: str, count: int, concurrency: int) -> Asked:
    """Measure one way of asking, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as folder:
        usage = measure([*PROGRAM, kind, url, str(count), str(concurrency), folder], ROOT)
        took = json.loads((Path(folder) / ASKED).read_text(encoding="utf-8"))
    return Asked(wall_s=took["wall_s"], cpu_s=took["cpu_s"], usage=usage)


def measure_speed(arguments: argparse.Namespace, console: Console) -> Speed:
    """Measure both ways in turns."""
    runs: dict[str, list[Asked]] = {OURS: [], LOOP: []}
    with endpoint(arguments.reply_ms) as url:
        for number in range(1, arguments.runs + 1):
            for kind, found in runs.items():
                found.append(asked(kind, url, arguments.requests, arguments.concurrency))
                took = found[-1]
                console.print(f"{kind}, run {number}: {took.wall_s:.2f} s, CPU {took.cpu_s:.2f} s")
    return Speed(
        setting=here(),
        requests=arguments.requests,
        concurrency=arguments.concurrency,
        reply_ms=arguments.reply_ms,
        runs=runs,
    )


def measure_memory(arguments: argparse.Namespace, console: Console) -> Memory:
    """Measure both ways with few items and with many."""
    sizes = []
    with endpoint(0) as url:
        for count in (arguments.few, arguments.many):
            runs = {kind: asked(kind, url, count, arguments.concurrency) for kind in (OURS, LOOP)}
            for kind, took in runs.items():
                console.print(f"{kind}, {count:,} items: {took.usage.peak_mb:,.0f} MB")
            sizes.append(Size(items=count, runs=runs))
    return Memory(setting=here(), concurrency=arguments.concurrency, few=sizes[0], many=sizes[1])


def main() -> int:
    """Run from the command line; 1 when a measured command failed."""
    arguments = parse()
    console = Console()
    results = Results.read()
    try:
        if not arguments.render and arguments.only != MEMORY:
            results.keep(measure_speed(arguments, console))
        if not arguments.render and arguments.only != SPEED:
            results.keep(measure_memory(arguments, console))
    except CommandFailedError as error:
        print(error, file=sys.stderr)
        return 1
    for section in sections(results):
        table = Table(*section.columns, title=section.title, box=box.SIMPLE)
        for row in section.rows:
            table.add_row(*row)
        console.print(table)
    if arguments.write:
        replace_text(arguments.write, markdown(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
