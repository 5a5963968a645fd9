"""Speed and memory of the MIMIC-III floor, beside a baseline measured in the same run.

python -m benchmarks.mimic3                                 # all parts, tables on the terminal
python -m benchmarks.mimic3 --only demo --runs 5            # one part; the others are kept
python -m benchmarks.mimic3 --write docs/performance.md     # and write the page
python -m benchmarks.mimic3 --render --write docs/performance.md   # without measuring
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.command_line import Say, carry_out, new_parser
from benchmarks.commands import ROOT
from benchmarks.mimic3_page import PAGE
from benchmarks.mimic3_results import Results
from benchmarks.parts import (
    Source,
    measure_copies,
    measure_demo,
    measure_memory,
    measure_postgres,
)

PARTS = ("demo", "copies", "memory", "postgres")
USUAL_PARTS = ["demo", "copies", "memory"]


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    shared = Path(os.environ.get("MEDEVAL_SHARED") or ROOT.parent / "shared")
    parser = new_parser("benchmarks.mimic3", __doc__)
    add = parser.add_argument
    add("--only", action="append", choices=PARTS, help="measure this part; may be repeated")
    add("--skip", action="append", choices=PARTS, default=[], help="leave this part out")
    add("--runs", type=int, default=3, help="runs of the parts demo and copies (default: 3)")
    demo = shared / "data" / "mimic3_demo"
    add("--mimic3-demo", type=Path, default=demo, metavar="DIR", help="its .csv.gz files")
    add("--copies", type=int, default=10, help="copies of the demo (default: 10)")
    add("--growth", type=int, action="append", default=[], help="one more number of copies")
    add("--skip-baseline", action="store_true", help="no baseline on the copies (minutes)")
    add("--synthetic-events", type=int, default=30_000_000, help="chart events of part memory")
    add("--memory-limit", default="2GB", help="MEDEVAL_MEMORY_LIMIT of part memory")
    add("--cache", type=Path, help="folder that keeps the copies for the next time")
    add("--folder", type=Path, help="where temporary files go; several GB for the full size")
    arguments = parser.parse_args(words)
    if min(arguments.runs, arguments.copies, *arguments.growth) < 1:
        parser.error("runs and copies are counted from 1")
    arguments.shared = shared
    return arguments


def measure_parts(arguments: argparse.Namespace, results: Results, say: Say) -> None:
    """Measure the chosen parts; each is kept as soon as it is there."""
    source = Source(arguments.mimic3_demo)
    if not source.is_real:
        say(f"No MIMIC-III demo in {arguments.mimic3_demo}: {source.name} instead.")
    chosen = [p for p in arguments.only or USUAL_PARTS if p not in arguments.skip]
    with tempfile.TemporaryDirectory(prefix="medeval-bench-", dir=arguments.folder) as temporary:
        folder = Path(temporary)
        cache: Path = (arguments.cache or folder / "copies-of-demo").resolve()
        if "demo" in chosen:
            results.keep(measure_demo(source, arguments.shared, folder, arguments.runs, say))
        if "copies" in chosen:
            results.keep(
                measure_copies(
                    source,
                    arguments.shared,
                    folder,
                    cache,
                    sizes=[arguments.copies, *arguments.growth],
                    runs=arguments.runs,
                    with_baseline=not arguments.skip_baseline,
                    say=say,
                )
            )
        if "memory" in chosen:
            results.keep(
                measure_memory(folder, arguments.synthetic_events, arguments.memory_limit, say)
            )
        if "postgres" in chosen:
            results.keep(measure_postgres(source, folder, cache, arguments.copies, say))


def main() -> int:
    """Run from the command line; 1 when a measured command failed."""
    return carry_out(parse(), Results.read(), measure_parts, PAGE)


if __name__ == "__main__":
    sys.exit(main())
