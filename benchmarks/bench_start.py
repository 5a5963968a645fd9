"""How long commands take before they have anything to do, beside the bare start of Python.

python -m benchmarks.bench_start             # and the page
python -m benchmarks.bench_start --render    # the page, nothing is measured
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import Usage, Word, measure
from benchmarks.pages import Benchmark, Ratio, largest, say, typical
from benchmarks.warehouses import MEDEVAL

# What the published scoring scripts import before their first line.
IMPORTS = "import numpy, pandas, sklearn.metrics, sklearn.utils"


def start(runs: int = 9) -> dict[str, Any]:
    """Each command in turns with its baseline."""
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        folder = Path(temporary) / "runs"
        asked: list[Word] = ["run", "--task", "yier", "--model", "demo", "--out", folder]
        measure([*MEDEVAL, *asked])
        (run,) = folder.iterdir()
        ways: dict[str, list[Word]] = {
            "--help": [*MEDEVAL, "--help"],
            "python": [sys.executable, "-c", "pass"],
            "score": [*MEDEVAL, "score", run],
            "imports": [sys.executable, "-c", IMPORTS],
        }
        used: dict[str, list[Usage]] = {name: [] for name in ways}
        for _ in range(runs):
            for name, command in ways.items():
                used[name].append(measure(command))
        for name, usages in used.items():
            say(f"{name}: {min(usage.wall_s for usage in usages):.2f} s")
    return {"ways": used}


def rows(_name: str, part: dict[str, Any]) -> Iterator[Ratio]:
    """Return the rows of the table of all benchmarks."""
    for what, way, beside, baseline in (
        ("start, `--help`", "--help", "bare Python", "python"),
        ("start and all of `score`, YIER's demo", "score", "imports of its libraries", "imports"),
    ):
        ours, theirs = part["ways"][way], part["ways"][baseline]
        figures = typical(ours, "wall_s"), typical(theirs, "wall_s")
        yield Ratio(what, beside, "", "wall s", *figures, largest(ours), largest(theirs))


BENCHMARK = Benchmark(
    "start",
    "start",
    {"start": start},
    lambda part: ("medeval", "numpy", "pandas", "scikit-learn"),
    constants={"imports": IMPORTS},
    rows=rows,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
