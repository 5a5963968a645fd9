"""What was measured of the CDM cases, as it is kept in results/cdm.json, and the page of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median

from pydantic import BaseModel, Field

from benchmarks.figures import spread, user, wall
from benchmarks.kept import Kept, Part
from benchmarks.page import Page, Section, where_and_when
from benchmarks.processes import Usage

DUCKDB, POSTGRES = "duckdb", "postgres"
NAMES = {DUCKDB: "DuckDB, from .csv.gz", POSTGRES: "PostgreSQL, from loaded tables"}
START_UP, HALF, FULL = "start-up", "half", "full"
# What the full size may take beyond start-up, and how much more than half of it.
MOST_SECONDS = {DUCKDB: 15.0, POSTGRES: 25.0}
MOST_MB = 2000.0
MOST_GROWTH = 2.4

# practical_cdm_benchmark itself at commit 7e49f9b, measured once: PostgreSQL 15, 2 cores, 2,400
# cases with 1,006,564 laboratory rows.
RECORDED_CASES = 2400
RECORDED = {"as it sets its tables up, without indexes": 410.0, "indexes added by hand": 73.5}

HEAD = """\
# Performance of the CDM cases

<!-- Written by `python -m benchmarks.bench_cdm --render --write docs/performance_cdm.md`: do not
edit. -->

How long it takes to make the cases of the clinical decision making benchmark from MIMIC-IV tables,
how much memory, and how that grows. The data are synthetic (`python -m medeval synth mimic4`), with
the special cases of the demo in the same proportion. All figures are of whole processes, from start
to end.

- **dbt build + export**: `dbt build --select cdm --resource-type seed --resource-type model` in a
  new warehouse, then `python -m medeval export --task cdm`, with all settings at their defaults:
  the admissions are chosen by the selection rule, the sections are derived from the discharge
  notes, and up to three results of each test are kept. The project was parsed before, as after
  `make setup`; tests are left out. **Start-up** is the same two commands on the smallest synthetic
  data, so what is *beyond start-up* is the work on the further admissions. On PostgreSQL the tables
  were loaded before; user CPU is that of the commands and of the server's processes together, and
  the server's memory is not measured.
- **admission by admission**: the baseline, measured in the same call. It is a program of our own
  (`benchmarks/admission_by_admission.py`) that works as practical_cdm_benchmark does: filter the
  tables to the cohort, then ask the database nine times for each admission and clean the texts in
  Python. It does less than ours, since cohort, sections and lists are given to it, and asks for the
  exam names of an admission's reports only, where the published program joins those of all reports
  each time. It runs on some admissions; its full time is **extrapolated**: preparing once, and
  seconds per admission times admissions. Its cases are compared with ours under the reference's
  rules, from the same sections and lists: a difference ends the benchmark.
- **practical_cdm_benchmark (recorded)**: the published program, measured once on 2 cores with
  PostgreSQL 15 and other synthetic data of this size (2,400 cases, 1,006,564 laboratory rows), and
  not in these runs: its ratios tell the order of magnitude only.

Seconds are the median of the runs, with the least and the greatest; peak memory is the largest of
them, of the process tree.
"""

TAIL = """\
## Measure again

```sh
python -m benchmarks.bench_cdm --write docs/performance_cdm.md
python -m benchmarks.bench_cdm --only duckdb --runs 5 --cache DIR     # one engine; keeps the data
python -m benchmarks.bench_cdm --render --write docs/performance_cdm.md
```

The figures are kept in `benchmarks/results/cdm.json`.
"""


class Size(BaseModel, frozen=True):
    """One size of the data, and ours on it run by run."""

    cases: int
    admissions: int
    labs: int
    ours: list[Usage]
    load: Usage | None = None
    statements: int | None = None


class Loop(BaseModel, frozen=True):
    """The baseline on some admissions."""

    with_indexes: bool
    admissions: int
    cases: int
    prepare_s: float
    loop_s: float
    statements: int

    @property
    def per_admission(self) -> float:
        """Seconds of one admission."""
        return self.loop_s / self.admissions

    def extrapolated(self, admissions: int) -> float:
        """Return seconds for so many admissions."""
        return self.prepare_s + self.per_admission * admissions


class Measured(Part, frozen=True):
    """One engine: every size, and the baseline's ways beside ours by the same rules."""

    server: str | None = None
    sizes: dict[str, Size]
    cohort: int
    by_reference: Usage
    loops: list[Loop]

    def beyond(self, size: str, figure: Callable[[Usage], float]) -> float:
        """Return the median of a figure less that of start-up."""
        return self._median(size, figure) - self._median(START_UP, figure)

    def growth(self, figure: Callable[[Usage], float]) -> float:
        """Return how many times the half size the full size takes."""
        return self.beyond(FULL, figure) / self.beyond(HALF, figure)

    def peak(self) -> float:
        """Return the largest peak memory of the full size."""
        return max(used.peak_mb for used in self.sizes[FULL].ours)

    def _median(self, size: str, figure: Callable[[Usage], float]) -> float:
        return median(map(figure, self.sizes[size].ours))


class Results(Kept):
    """Both engines, as far as measured."""

    file = "cdm.json"
    engines: dict[str, Measured] = Field(default_factory=dict)

    def keep(self, engine: str, measured: Measured) -> None:
        """Put an engine in the place of an older measurement of it, and keep all."""
        found = {**self.engines, engine: measured}
        self.engines = {name: found[name] for name in NAMES if name in found}
        self.write()


def sections(results: Results) -> list[Section]:
    """Return the tables."""
    measured = list(results.engines.items())
    return [
        where_section(measured),
        size_section(measured),
        bar_section(measured),
        baseline_section(measured),
        statement_section(measured),
    ]


def where_section(engines: Iterable[tuple[str, Measured]]) -> Section:
    """Name the machine, the versions, the server and the day."""
    engines = list(engines)
    section = where_and_when({engine: one.setting for engine, one in engines}, "engine")
    for row, (_, measured) in enumerate(engines):
        if measured.server:
            *others, versions = section.rows[row]
            server = f"PostgreSQL {measured.server} with default settings"
            section.rows[row] = [*others, f"{versions}, {server}"]
    return section


def size_section(engines: Iterable[tuple[str, Measured]]) -> Section:
    """Show every size, and what is beyond start-up."""
    section = Section(
        "From tables to cases",
        "dbt build + export. Milliseconds per case are of the wall seconds beyond start-up.",
        ["engine", "size", "admissions", "laboratory rows", "cases", "wall s", "user CPU s"],
    )
    further = ["peak MB", "wall s beyond start-up", "user CPU s beyond", "ms per case"]
    section.columns = [*section.columns, *further]
    for engine, measured in engines:
        in_server = measured.server is not None
        for name, size in measured.sizes.items():
            beyond = measured.beyond(name, wall)
            more = name != START_UP
            section.rows.append(
                [
                    NAMES[engine],
                    name,
                    f"{size.admissions:,}",
                    f"{size.labs:,}",
                    f"{size.cases:,}",
                    spread(map(wall, size.ours)),
                    spread(map(user, size.ours)),
                    "" if in_server else f"{max(used.peak_mb for used in size.ours):,.0f}",
                    f"{beyond:.1f}" if more else "",
                    f"{measured.beyond(name, user):.1f}" if more else "",
                    f"{beyond / size.cases * 1000:.1f}" if more else "",
                ]
            )
    return section


def bar_section(engines: Iterable[tuple[str, Measured]]) -> Section:
    """Set the figures beside what is asked of them."""
    section = Section(
        "Limits",
        "What the full size may take on a machine of this class, and the growth from half to full"
        " size beyond start-up, where the admissions double. Growth of user CPU moves less than"
        " that of wall time.",
        ["engine", "what", "measured", "limit", ""],
    )
    for engine, measured in engines:
        rows = [
            ("wall s beyond start-up", measured.beyond(FULL, wall), MOST_SECONDS[engine], ".1f"),
            ("growth, wall", measured.growth(wall), MOST_GROWTH, ".2f"),
            ("growth, user CPU", measured.growth(user), MOST_GROWTH, ".2f"),
        ]
        if measured.server is None:
            rows.append(("peak MB", measured.peak(), MOST_MB, ",.0f"))
        for what, found, limit, form in rows:
            verdict = "holds" if found < limit else "**does not hold**"
            section.rows.append(
                [NAMES[engine], what, format(found, form), format(limit, form), verdict]
            )
    return section


def baseline_section(engines: Iterable[tuple[str, Measured]]) -> Section:
    """Set the baseline beside ours."""
    section = Section(
        "Admission by admission",
        "Wall seconds for the cohort of the full size. Ours here: the reference's rules, from the"
        " cohort, sections and lists that the baseline reads, less start-up. The ratio is the"
        " baseline's extrapolated time divided by it.",
        ["engine", "way", "measured on", "ms per admission", "preparing s", "cohort s", "ratio"],
    )
    for engine, measured in engines:
        start_up = median(map(wall, measured.sizes[START_UP].ours))
        ours = measured.by_reference.wall_s - start_up
        per_case = ours / measured.cohort * 1000
        section.rows.append(
            [
                NAMES[engine],
                "dbt build + export",
                f"{measured.cohort:,}",
                f"{per_case:.1f}",
                "",
                f"{ours:.1f}",
                "",
            ]
        )
        for loop in measured.loops:
            full = loop.extrapolated(measured.cohort)
            way = "with indexes" if loop.with_indexes else "without indexes"
            section.rows.append(
                [
                    NAMES[engine],
                    f"admission by admission, {way}",
                    f"{loop.admissions:,}",
                    f"{loop.per_admission * 1000:.1f}",
                    f"{loop.prepare_s:.1f}",
                    f"{full:.0f} (extrapolated)",
                    f"{full / ours:.1f} x",
                ]
            )
        for way, seconds in RECORDED.items() if engine == POSTGRES else ():
            section.rows.append(
                [
                    NAMES[engine],
                    f"practical_cdm_benchmark (recorded), {way}",
                    f"{RECORDED_CASES:,}",
                    f"{seconds / RECORDED_CASES * 1000:.1f}",
                    "",
                    f"{seconds:.0f}",
                    f"{seconds / ours:.1f} x",
                ]
            )
    return section


def statement_section(engines: Iterable[tuple[str, Measured]]) -> Section:
    """Show that the number of statements does not depend on the cases."""
    section = Section(
        "Statements",
        "SQL statements that the server logs during dbt build + export, without those that begin or"
        " end a transaction, set up a connection or fetch a further batch of the same query. The"
        " baseline asks nine times for each admission.",
        ["size", "cases", "dbt build + export", "admission by admission"],
    )
    for _, measured in engines:
        for name, size in measured.sizes.items():
            if size.statements is not None:
                each = f"{9 * size.cases:,}"
                section.rows.append([name, f"{size.cases:,}", f"{size.statements:,}", each])
    return section


PAGE = Page(HEAD, sections, TAIL)
