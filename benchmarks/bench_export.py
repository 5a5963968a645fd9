"""Time series of MIMIC-III from the warehouse to files, beside one query a stay in the same call.

python -m benchmarks.bench_export                      # and the page
python -m benchmarks.bench_export --runs 5 --cache DIR
python -m benchmarks.bench_export --render             # the page, nothing is measured
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import CommandFailedError, Usage, function
from benchmarks.mimic3 import SHARED, copied, small
from benchmarks.pages import Benchmark, Ratio, largest, say, typical
from benchmarks.warehouses import Workplace

SIZES = (1, 2, 4, 10)


def timeseries(
    mimic3_demo: str = str(SHARED / "data" / "mimic3_demo"), runs: int = 3, cache: str = ""
) -> dict[str, Any]:
    """Both ways in turns on the copies, ours on fewer as well."""
    name, source = small(mimic3_demo)
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        folder = Path(temporary)
        sizes: list[dict[str, Any]] = []
        workplace = Workplace(folder / "ours", "mimic3")
        for size in SIZES:
            data = source if size == 1 else copied(name, source, cache or folder / "data", size)
            workplace.build(MEDEVAL_MIMIC3_DIR=data)
            used = [workplace.export("--timeseries") for _ in range(runs)]
            say(f"export, {size}: {used[-1]}")
            sizes.append({"copies": size, "ours": used})
        baseline: list[Usage] = []
        for run in range(1, runs + 1):
            out = folder / f"baseline-{run}"
            baseline.append(function("benchmarks.stay_by_stay:write", workplace.warehouse, out))
            say(f"baseline, run {run} of {runs}: {baseline[-1]}")
        files = dict(series(workplace.exports))
        if files != dict(series(out)):
            raise CommandFailedError("Both ways do not write the same files.")
    rows = sum(text.count(b"\n") - 1 for text in files.values())
    return {"data": name, "stays": len(files), "rows": rows, "sizes": sizes, "baseline": baseline}


def series(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of time series with their places below a folder."""
    for path in sorted(folder.glob("root/*/*/*_timeseries.csv")):
        yield str(path.relative_to(folder)), path.read_bytes()


def rows(_name: str, part: dict[str, Any]) -> Iterator[Ratio]:
    """Return the row of the table of all benchmarks."""
    growth = [typical(size["ours"]) for size in part["sizes"]]
    yield Ratio(
        "export of time series",
        "stay by stay, pandas",
        f"{part['stays']:,} stays",
        "user CPU s",
        growth[-1],
        typical(part["baseline"]),
        largest(part["sizes"][-1]["ours"]),
        largest(part["baseline"]),
        growth,
    )


BENCHMARK = Benchmark(
    "export",
    "export",
    {"timeseries": timeseries},
    lambda part: ("medeval", "duckdb", "pandas"),
    rows=rows,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
