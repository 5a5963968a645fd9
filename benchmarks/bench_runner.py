"""What a run adds to the client it stands on: time, CPU and memory beside a plain loop.

python -m benchmarks.bench_runner                                    # both parts
python -m benchmarks.bench_runner --only speed --runs 5              # one; the other is kept
python -m benchmarks.bench_runner --write docs/performance_runner.md
python -m benchmarks.bench_runner --render --write docs/performance_runner.md   # no measuring
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.asking import LOOP, OURS, PACKAGES, Asked, Programs
from benchmarks.command_line import Say, carry_out, new_parser
from benchmarks.kept import setting
from benchmarks.runner_results import PAGE, Memory, Results, Size, Speed

PROGRAMS = Programs("benchmarks.runner_process", Asked)
PARTS = SPEED, MEMORY = "speed", "memory"


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = new_parser("benchmarks.bench_runner", __doc__)
    add = parser.add_argument
    add("--only", choices=PARTS, help="measure this part; the other is kept")
    add("--requests", type=int, default=1000, help="of the speed part (default: 1000)")
    add("--reply-ms", type=int, default=50, help="of the speed part's endpoint (default: 50)")
    add("--concurrency", type=int, default=64, help="under way at a time (default: 64)")
    add("--runs", type=int, default=5, help="of each way, the best counts (default: 5)")
    add("--few", type=int, default=5_000, help="items of the memory part (default: 5000)")
    add("--many", type=int, default=50_000, help="and the larger number (default: 50000)")
    arguments = parser.parse_args(words)
    if min(arguments.requests, arguments.concurrency, arguments.runs, arguments.few) < 1:
        parser.error("requests, items, concurrency and runs are counted from 1")
    if arguments.many <= arguments.few:
        parser.error("--many must be more than --few")
    return arguments


def measure_speed(arguments: argparse.Namespace, say: Say) -> Speed:
    """Measure both ways in turns."""
    size = arguments.reply_ms, arguments.requests, arguments.concurrency
    return Speed(
        setting=setting(PACKAGES),
        requests=arguments.requests,
        concurrency=arguments.concurrency,
        reply_ms=arguments.reply_ms,
        runs=PROGRAMS.in_turns(*size, arguments.runs, say),
    )


def measure_memory(arguments: argparse.Namespace, say: Say) -> Memory:
    """Measure both ways with few items and with many."""
    sizes = []
    with PROGRAMS.endpoint(0) as (url, _):
        for count in (arguments.few, arguments.many):
            runs = {
                kind: PROGRAMS.asked(kind, url, count, arguments.concurrency)
                for kind in (OURS, LOOP)
            }
            for kind, took in runs.items():
                say(f"{kind}, {count:,} items: {took.usage.peak_mb:,.0f} MB")
            sizes.append(Size(items=count, runs=runs))
    return Memory(
        setting=setting(PACKAGES), concurrency=arguments.concurrency, few=sizes[0], many=sizes[1]
    )


def measure_parts(arguments: argparse.Namespace, results: Results, say: Say) -> None:
    """Measure the chosen parts."""
    if arguments.only in (None, SPEED):
        results.keep(measure_speed(arguments, say))
    if arguments.only in (None, MEMORY):
        results.keep(measure_memory(arguments, say))


def main() -> int:
    """Run from the command line; 1 when a measured command failed."""
    return carry_out(parse(), Results.read(), measure_parts, PAGE)


if __name__ == "__main__":
    sys.exit(main())
