"""The page of all measurements: a section for each benchmark.

python -m benchmarks.performance    # the page, nothing is measured
"""

from __future__ import annotations

from benchmarks import (
    bench_cdm,
    bench_cdm_loop,
    bench_judging,
    bench_runner,
    bench_scoring,
    mimic3,
)
from benchmarks.measuring import ROOT
from benchmarks.pages import rendered, replace_text

PAGE = ROOT / "docs" / "performance.md"
BENCHMARKS = [
    one.BENCHMARK
    for one in (mimic3, bench_scoring, bench_cdm, bench_cdm_loop, bench_runner, bench_judging)
]


def markdown() -> str:
    """Return the page of all kept results."""
    sections = [one.markdown().strip() for one in BENCHMARKS]
    titles = [section.split("\n", 1)[0].removeprefix("## ") for section in sections]
    return rendered("performance", sections=sections, titles=titles)


def write_page() -> None:
    """Write it to `docs/`."""
    replace_text(PAGE, markdown())


if __name__ == "__main__":
    write_page()
