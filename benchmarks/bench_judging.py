"""What a judged run takes beside a plain loop, how fast it starts, and what it loses: nothing.

python -m benchmarks.bench_judging                                   # all parts
python -m benchmarks.bench_judging --only speed --runs 5             # one; the others are kept
python -m benchmarks.bench_judging --write docs/performance_judging.md
python -m benchmarks.bench_judging --render --write docs/performance_judging.md   # no measuring
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
from benchmarks.judging_results import (
    ASKED,
    LOOP,
    OURS,
    Asked,
    Limited,
    Results,
    Speed,
    Start,
    here,
    markdown,
    sections,
)
from benchmarks.processes import CommandFailedError, measure
from benchmarks.results import replace_text

PROGRAM = [sys.executable, "-m", "benchmarks.judging_process"]
PARTS = SPEED, START, LIMITED = "speed", "start", "limited"


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_judging",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--only", choices=PARTS, help="measure this part; the others are kept")
    add("--items", type=int, default=131, help="each is four calls (default: 131)")
    add("--reply-ms", type=int, default=50, help="of the endpoint (default: 50)")
    add("--concurrency", type=int, default=64, help="under way at a time (default: 64)")
    add("--runs", type=int, default=5, help="of each way, the best counts (default: 5)")
    add("--server-limit", type=int, default=8, help="of the limited endpoint (default: 8)")
    add("--limited-concurrency", type=int, default=32, help="beyond that limit (default: 32)")
    add("--write", type=Path, metavar="FILE", help="write the page of all kept results")
    add("--render", action="store_true", help="show the kept results, measure nothing")
    arguments = parser.parse_args(words)
    if min(arguments.items, arguments.runs, arguments.server_limit) < 1:
        parser.error("items, runs and the server's limit are counted from 1")
    if min(arguments.concurrency, arguments.limited_concurrency) < 3:
        parser.error("three judges need a concurrency of 3 or more")
    return arguments


@contextmanager
def endpoint(milliseconds: int, limit: int = 0) -> Iterator[tuple[str, list[int]]]:
    """Run the server in a process of its own.

    Yields:
        Its address, and a list that holds the number of refused calls when it has ended.
    """
    refused: list[int] = []
    process = subprocess.Popen(  # noqa: S603  the benchmark's own command
        [*PROGRAM, "serve", str(milliseconds), str(limit)],
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


def asked(kind: str, url: str, count: int, concurrency: int) -> Asked:
    """Measure one way of answering and judging, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as folder:
        usage = measure([*PROGRAM, kind, url, str(count), str(concurrency), folder], ROOT)
        took = json.loads((Path(folder) / ASKED).read_text(encoding="utf-8"))
    return Asked(**took, usage=usage)


def measure_speed(arguments: argparse.Namespace, console: Console) -> Speed:
    """Measure both ways in turns."""
    runs: dict[str, list[Asked]] = {OURS: [], LOOP: []}
    with endpoint(arguments.reply_ms) as (url, _):
        for number in range(1, arguments.runs + 1):
            for kind, found in runs.items():
                found.append(asked(kind, url, arguments.items, arguments.concurrency))
                took = found[-1]
                console.print(f"{kind}, run {number}: {took.wall_s:.2f} s, CPU {took.cpu_s:.2f} s")
    return Speed(
        setting=here(),
        items=arguments.items,
        concurrency=arguments.concurrency,
        reply_ms=arguments.reply_ms,
        runs=runs,
    )


def measure_start(arguments: argparse.Namespace, console: Console) -> Start:
    """Measure Python with all imports."""
    runs = [measure([*PROGRAM, START], ROOT) for _ in range(arguments.runs)]
    console.print(f"start: {min(usage.wall_s for usage in runs):.2f} s")
    return Start(setting=here(), runs=runs)


def measure_limited(arguments: argparse.Namespace, console: Console) -> Limited:
    """Run against an endpoint that takes fewer calls at a time than are made."""
    count, concurrency = arguments.items, arguments.limited_concurrency
    with endpoint(arguments.reply_ms, arguments.server_limit) as (url, refused):
        run = asked(OURS, url, count, concurrency)
    console.print(f"limited: {run.rewarded} of {count} items, {refused[0]} calls refused")
    return Limited(
        setting=here(),
        items=count,
        concurrency=concurrency,
        server_limit=arguments.server_limit,
        reply_ms=arguments.reply_ms,
        run=run,
        refused=refused[0],
    )


def main() -> int:
    """Run from the command line; 1 when a measured command failed."""
    arguments = parse()
    console = Console()
    results = Results.read()
    wanted = () if arguments.render else PARTS if arguments.only is None else (arguments.only,)
    try:
        if SPEED in wanted:
            results.keep(measure_speed(arguments, console))
        if START in wanted:
            results.keep(measure_start(arguments, console))
        if LIMITED in wanted:
            results.keep(measure_limited(arguments, console))
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
