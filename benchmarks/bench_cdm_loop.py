"""What a CDM run takes with the demo model, beside a plain loop over the same cases.

python -m benchmarks.bench_cdm_loop                           # figures on the terminal
python -m benchmarks.bench_cdm_loop --scale 60 --runs 1       # smaller
python -m benchmarks.bench_cdm_loop --write docs/performance_cdm_loop.md
python -m benchmarks.bench_cdm_loop --render --write docs/performance_cdm_loop.md   # no measuring
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.cdm_commands import CdmWorkplace, synthesize
from benchmarks.cdm_loop_results import LOOP, OURS, PACKAGES, PAGE, Loop, Results, Way
from benchmarks.command_line import Say, carry_out, new_parser
from benchmarks.commands import MEDEVAL, ROOT
from benchmarks.kept import setting
from benchmarks.processes import CommandFailedError, Usage, measure

BASELINE = [sys.executable, "-m", "benchmarks.case_by_case"]
LEAST = 20  # the fewest admissions that `synth` makes
LABS = 250  # laboratory rows of an admission, as `synth` has them by default

# What is said at last of each case, and after how many turns.
Answers = dict[str, tuple[str, int]]


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = new_parser("benchmarks.bench_cdm_loop", __doc__)
    add = parser.add_argument
    add("--scale", type=int, default=600, help="admissions of interest (default: 600)")
    add("--seed", type=int, default=5, help="of the synthetic data (default: 5)")
    add("--runs", type=int, default=3, help="of each way (default: 3)")
    arguments = parser.parse_args(words)
    if arguments.scale < LEAST:
        parser.error(f"the least scale is {LEAST}")
    if arguments.runs < 1:
        parser.error("runs are counted from 1")
    return arguments


def run(export: Path, folder: Path, first: int | None) -> tuple[Usage, Answers]:
    """Put cases to the demo model as a user does."""
    limit = [] if first is None else ["--limit", str(first)]
    command = [*MEDEVAL, "run", "--task", "cdm", "--model", "demo", *limit]
    usage = measure([*command, "--cases", export, "--out", folder], ROOT)
    (responses,) = folder.glob("*/responses.jsonl")
    lines = _lines(responses)
    return usage, {line["item"]: (line["text"], line["episode"]["turns"]) for line in lines}


def case_by_case(export: Path, folder: Path, first: int | None) -> tuple[Usage, Answers]:
    """Put cases to it in a plain loop."""
    folder.mkdir(parents=True)
    out = folder / "answers.jsonl"
    limit = [] if first is None else [str(first)]
    usage = measure([*BASELINE, export, out, *limit], ROOT)
    return usage, {line["item"]: (line["text"], line["turns"]) for line in _lines(out)}


WAYS: dict[str, Callable[[Path, Path, int | None], tuple[Usage, Answers]]] = {
    OURS: run,
    LOOP: case_by_case,
}


def measure_loop(arguments: argparse.Namespace, results: Results, say: Say) -> None:
    """Make an export, and measure both ways in turns.

    Raises:
        CommandFailedError: they do not say the same of a case, or there is one case only.
    """
    ways = {name: Way(first=[], all=[]) for name in WAYS}
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        folder = Path(temporary)
        source = synthesize(folder / "data", arguments.scale, LABS, arguments.seed)
        workplace = CdmWorkplace(folder / "ours")
        workplace.build_and_export(source)
        export = workplace.folder / "exports" / "cdm"
        said: list[Answers] = []
        for number in range(1, arguments.runs + 1):
            for name, way in ways.items():
                place = folder / f"{name}-{number}"
                way.first.append(WAYS[name](export, place / "first", 1)[0])
                usage, answers = WAYS[name](export, place / "all", None)
                way.all.append(usage)
                said.append(answers)
                say(f"{name}, run {number}: {len(answers):,} cases, {usage.wall_s:.2f} s")
    if any(answers != said[0] for answers in said):
        raise CommandFailedError("Both ways do not say the same of every case.")
    if len(said[0]) < 2:
        raise CommandFailedError("There is one case only: take a larger --scale.")
    results.keep(
        Loop(
            setting=setting(PACKAGES),
            scale=arguments.scale,
            seed=arguments.seed,
            cases=len(said[0]),
            turns=sum(turns for _, turns in said[0].values()),
            ways=ways,
        )
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> int:
    """Run from the command line; 1 when a measured command failed."""
    return carry_out(parse(), Results.read(), measure_loop, PAGE)


if __name__ == "__main__":
    sys.exit(main())
