"""The page of all measurements: a table of their ratios, and a section for each benchmark.

python -m benchmarks.performance    # the page, nothing is measured
"""

from __future__ import annotations

from benchmarks import (
    bench_cdm,
    bench_cdm_loop,
    bench_export,
    bench_judging,
    bench_large,
    bench_postgres,
    bench_runner,
    bench_scoring,
    bench_start,
    mimic3,
)
from benchmarks.measuring import ROOT
from benchmarks.pages import rendered, replace_text

PAGE = ROOT / "docs" / "performance.md"
MODULES = (
    mimic3,
    bench_cdm,
    bench_export,
    bench_scoring,
    bench_runner,
    bench_judging,
    bench_cdm_loop,
    bench_start,
    bench_large,
    bench_postgres,
)
BENCHMARKS = [module.BENCHMARK for module in MODULES]


def ratios() -> str:
    """Return the table of all ratios."""
    return rendered("ratios", rows=[row for one in BENCHMARKS for row in one.ratios()])


def markdown() -> str:
    """Return the page of all kept results."""
    sections = [one.markdown().strip() for one in BENCHMARKS]
    titles = [section.split("\n", 1)[0].removeprefix("## ") for section in sections]
    return rendered("performance", table=ratios(), sections=sections, titles=titles)


def write_page() -> None:
    """Write it to `docs/`."""
    replace_text(PAGE, markdown())


if __name__ == "__main__":
    write_page()
