"""What a judged run takes beside a plain loop, how fast it starts, and what it loses: nothing.

python -m benchmarks.bench_judging                                   # all parts
python -m benchmarks.bench_judging --only speed --runs 5             # one; the others are kept
python -m benchmarks.bench_judging --write docs/performance_judging.md
python -m benchmarks.bench_judging --render --write docs/performance_judging.md   # no measuring
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.asking import OURS, PACKAGES, Programs
from benchmarks.command_line import Say, carry_out, new_parser
from benchmarks.commands import ROOT
from benchmarks.judging_results import PAGE, Judged, Limited, Results, Speed, Start
from benchmarks.kept import setting
from benchmarks.processes import measure

PROGRAMS = Programs("benchmarks.judging_process", Judged)
PARTS = SPEED, START, LIMITED = "speed", "start", "limited"


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = new_parser("benchmarks.bench_judging", __doc__)
    add = parser.add_argument
    add("--only", choices=PARTS, help="measure this part; the others are kept")
    add("--items", type=int, default=131, help="each is four calls (default: 131)")
    add("--reply-ms", type=int, default=50, help="of the endpoint (default: 50)")
    add("--concurrency", type=int, default=64, help="under way at a time (default: 64)")
    add("--runs", type=int, default=5, help="of each way, the best counts (default: 5)")
    add("--server-limit", type=int, default=8, help="of the limited endpoint (default: 8)")
    add("--limited-concurrency", type=int, default=32, help="beyond that limit (default: 32)")
    arguments = parser.parse_args(words)
    if min(arguments.items, arguments.runs, arguments.server_limit) < 1:
        parser.error("items, runs and the server's limit are counted from 1")
    if min(arguments.concurrency, arguments.limited_concurrency) < 3:
        parser.error("three judges need a concurrency of 3 or more")
    return arguments


def measure_speed(arguments: argparse.Namespace, say: Say) -> Speed:
    """Measure both ways in turns."""
    size = arguments.reply_ms, arguments.items, arguments.concurrency
    return Speed(
        setting=setting(PACKAGES),
        items=arguments.items,
        concurrency=arguments.concurrency,
        reply_ms=arguments.reply_ms,
        runs=PROGRAMS.in_turns(*size, arguments.runs, say),
    )


def measure_start(arguments: argparse.Namespace, say: Say) -> Start:
    """Measure Python with all imports."""
    runs = [measure(PROGRAMS.command(START), ROOT) for _ in range(arguments.runs)]
    say(f"start: {min(usage.wall_s for usage in runs):.2f} s")
    return Start(setting=setting(PACKAGES), runs=runs)


def measure_limited(arguments: argparse.Namespace, say: Say) -> Limited:
    """Run against an endpoint that takes fewer calls at a time than are made."""
    count, concurrency = arguments.items, arguments.limited_concurrency
    with PROGRAMS.endpoint(arguments.reply_ms, arguments.server_limit) as (url, refused):
        run = PROGRAMS.asked(OURS, url, count, concurrency)
    say(f"limited: {run.rewarded} of {count} items, {refused[0]} calls refused")
    return Limited(
        setting=setting(PACKAGES),
        items=count,
        concurrency=concurrency,
        server_limit=arguments.server_limit,
        reply_ms=arguments.reply_ms,
        run=run,
        refused=refused[0],
    )


def measure_parts(arguments: argparse.Namespace, results: Results, say: Say) -> None:
    """Measure the chosen parts."""
    if arguments.only in (None, SPEED):
        results.keep(measure_speed(arguments, say))
    if arguments.only in (None, START):
        results.keep(measure_start(arguments, say))
    if arguments.only in (None, LIMITED):
        results.keep(measure_limited(arguments, say))


def main() -> int:
    """Run from the command line; 1 when a measured command failed."""
    return carry_out(parse(), Results.read(), measure_parts, PAGE)


if __name__ == "__main__":
    sys.exit(main())
