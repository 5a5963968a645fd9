"""Speed and memory of scoring at full size, beside loops over scikit-learn in the same call.

python -m benchmarks.bench_scoring                                   # all tasks
python -m benchmarks.bench_scoring --only ihm --runs 5               # one; the others are kept
python -m benchmarks.bench_scoring --write docs/performance_scoring.md
python -m benchmarks.bench_scoring --render --write docs/performance_scoring.md   # no measuring
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.command_line import Say, carry_out, new_parser
from benchmarks.commands import ROOT
from benchmarks.kept import setting
from benchmarks.processes import CommandFailedError, Usage, measure
from benchmarks.scoring_data import SIZES, make
from benchmarks.scoring_results import (
    NUMBA,
    NUMPY,
    PAGE,
    Loop,
    Measured,
    Results,
    best,
    packages,
)

PROGRAM = [sys.executable, "-m", "benchmarks.scoring_process"]
LARGEST_DIFFERENCE = 1e-9


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = new_parser("benchmarks.bench_scoring", __doc__)
    add = parser.add_argument
    add("--only", nargs="+", choices=list(SIZES), help="measure these tasks")
    add("--runs", type=int, default=3, help="runs of ours, the best counts (default: 3)")
    add("--iterations-of-baseline", type=int, metavar="K", help="default: by task, a few seconds")
    arguments = parser.parse_args(words)
    if arguments.runs < 1 or (arguments.iterations_of_baseline or 1) < 1:
        parser.error("runs and iterations are counted from 1")
    return arguments


def measure_task(task: str, folder: Path, runs: int, iterations: int, say: Say) -> Measured:
    """Measure one task: ours with each engine, the floor, and both baselines."""
    make(task, folder)
    engines = [NUMPY, NUMBA] if find_spec("numba") else [NUMPY]
    if NUMBA in engines:
        program("ours", task, folder, NUMBA)  # compiles, once for this machine
    used: dict[str, list[Usage]] = {engine: [] for engine in engines}
    for run in range(1, runs + 1):
        for engine in engines:
            used[engine].append(program("ours", task, folder, engine))
            say(f"{task}, {engine}, run {run}: {used[engine][-1].user_s:.2f} s user CPU")
    floor = program("floor", task, folder)
    loops = {}
    difference = 0.0
    for kind in ("loop", "published"):
        usage = program(kind, task, folder, str(iterations))
        spent = json.loads((folder / "loop.json").read_text(encoding="utf-8"))["loop_user_s"]
        loops[kind] = Loop(iterations=iterations, loop_user_s=spent, usage=usage)
        for engine in engines:
            difference = max(difference, compare(folder, engine, iterations))
        full = loops[kind].extrapolated(SIZES[task].n_iters)
        say(
            f"{task}, {kind}: {spent:.2f} s for {iterations} of {SIZES[task].n_iters:,} iterations,"
            f" extrapolated {full:,.0f} s, {full / best(used[NUMPY]):,.0f} times ours (numpy)"
        )
    if not difference < LARGEST_DIFFERENCE:
        raise CommandFailedError(f"{task}: our values differ from the baseline's by {difference}")
    return Measured(
        setting=setting(packages(engines)),
        ours=used,
        floor=floor,
        loop=loops["loop"],
        published=loops["published"],
        largest_difference=difference,
    )


def program(kind: str, task: str, folder: Path, *words: str) -> Usage:
    """Run one program in a process of its own."""
    return measure([*PROGRAM, kind, task, folder, *words], ROOT)


def compare(folder: Path, engine: str, iterations: int) -> float:
    """Return the largest difference from the baseline's resamples, relative above 1."""
    theirs = np.load(folder / "loop.npy")
    found = np.load(folder / f"{engine}.npy")[:iterations]
    return float((np.abs(found - theirs) / np.maximum(1, np.abs(theirs))).max())


def measure_tasks(arguments: argparse.Namespace, results: Results, say: Say) -> None:
    """Measure the chosen tasks."""
    for task in arguments.only or SIZES:
        iterations = arguments.iterations_of_baseline or SIZES[task].baseline_iterations
        with tempfile.TemporaryDirectory(prefix="medeval-bench-") as folder:
            measured = measure_task(task, Path(folder), arguments.runs, iterations, say)
        results.keep(task, measured)


def main() -> int:
    """Run from the command line; 1 when a measured command failed."""
    return carry_out(parse(), Results.read(), measure_tasks, PAGE)


if __name__ == "__main__":
    sys.exit(main())
