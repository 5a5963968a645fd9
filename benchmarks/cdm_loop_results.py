"""What was measured of CDM runs, as it is kept in results/cdm_loop.json, and the page of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from pydantic import BaseModel

from benchmarks.figures import spread, user, wall
from benchmarks.kept import KeptParts, Part
from benchmarks.page import Page, Section, where_and_when
from benchmarks.processes import Usage

OURS, LOOP = "ours", "loop"
NAMES = {OURS: "run", LOOP: "case by case"}
PACKAGES = ("medeval", "pydantic", "rapidfuzz")
# What a run of so many cases may take, with its start.
CASES, MOST_SECONDS = 500, 30.0

HEAD = """\
# Performance of CDM runs

<!-- Written by `python -m benchmarks.bench_cdm_loop --write docs/performance_cdm_loop.md`: do not
edit. -->

How long a run of the clinical decision making benchmark takes where the model itself takes hardly
any time: what is measured is the way of the cases to the model, its calls of tools, and what is
kept of them. Both ways put the same export of synthetic cases (`python -m medeval synth mimic4`) to
the built-in demo model; figures are of whole processes, from start to end.

- **run**: `python -m medeval run --task cdm --model demo`, with all settings at their defaults.
  Every request passes the gate and leaves a line in the audit, every turn is in a journal before
  the next one, and a killed run goes on where it was.
- **case by case**: the baseline, run in turns with ours in the same call. It is a program of our
  own (`benchmarks/case_by_case.py`) that calls the same rules with the same prompts and tools, one
  case after the other. All answers are in memory until the end, and nothing is kept if it is
  stopped.

Both must end every case with the same answer after the same number of turns: a difference ends the
benchmark. Seconds are the median of the runs, with the least and the greatest; peak memory is the
largest of them.
"""

TAIL = """\
## Measure again

```sh
python -m benchmarks.bench_cdm_loop --write docs/performance_cdm_loop.md
python -m benchmarks.bench_cdm_loop --scale 600 --seed 5 --runs 5
python -m benchmarks.bench_cdm_loop --render --write docs/performance_cdm_loop.md
```

The figures are kept in `benchmarks/results/cdm_loop.json`.
"""

Figure = Callable[[Usage], float]


class Way(BaseModel, frozen=True):
    """One way, run by run: on the first case alone, and on all of them."""

    first: list[Usage]
    all: list[Usage]

    def beyond(self, figure: Figure) -> float:
        """Return what all cases take more than the first one alone."""
        return median(map(figure, self.all)) - median(map(figure, self.first))

    def further_mb(self) -> float:
        """Return the peak memory of all cases less that of the first one alone."""
        return _peak(self.all) - _peak(self.first)


class Loop(Part, frozen=True):
    """Both ways through one export."""

    scale: int
    seed: int
    cases: int
    turns: int
    ways: dict[str, Way]

    def per_case(self, way: str, figure: Figure) -> float:
        """Return what each case after the first takes."""
        return self.ways[way].beyond(figure) / (self.cases - 1)

    def with_start(self, cases: int) -> float:
        """Return the wall seconds of ours for so many cases, its start included."""
        start = median(map(wall, self.ways[OURS].first))
        return start + self.per_case(OURS, wall) * (cases - 1)


class Results(KeptParts):
    """The one part, if it was measured."""

    file = "cdm_loop.json"
    loop: Loop | None = None


def sections(results: Results) -> list[Section]:
    """Return the tables."""
    found = [where_and_when(results.settings())]
    if results.loop:
        found += [whole_section(results.loop), case_section(results.loop)]
        found.append(limit_section(results.loop))
    return found


def whole_section(loop: Loop) -> Section:
    """Show the whole processes."""
    section = Section(
        "From start to end",
        f"`synth mimic4 --scale {loop.scale} --seed {loop.seed}`, built and exported:"
        f" {loop.cases:,} cases, {loop.turns:,} turns. Both read all cases, then put the first one"
        " or all of them to the model.",
        ["way", "cases asked", "wall s", "user CPU s", "peak MB"],
    )
    for name, way in loop.ways.items():
        for asked, runs in ((1, way.first), (loop.cases, way.all)):
            seconds = [spread(map(figure, runs)) for figure in (wall, user)]
            section.rows.append([NAMES[name], f"{asked:,}", *seconds, f"{_peak(runs):,.0f}"])
    return section


def case_section(loop: Loop) -> Section:
    """Show what a case takes when the start is taken off, and the ratio of both ways."""
    section = Section(
        "Each further case",
        "All cases less the first one alone, by the number of further cases. For a turn the loop"
        " calls a function, ours passes the gate and writes a line to the audit and one to a"
        " journal as well.",
        ["way", "wall ms", "user CPU ms", "kB of memory"],
    )
    figures = {
        name: [
            *(loop.per_case(name, figure) * 1000 for figure in (wall, user)),
            way.further_mb() / (loop.cases - 1) * 1000,
        ]
        for name, way in loop.ways.items()
    }
    for name, found in figures.items():
        section.rows.append([NAMES[name], *(f"{value:.1f}" for value in found)])
    section.rows.append(_ratios(figures))
    return section


def limit_section(loop: Loop) -> Section:
    """Set what is asked of a run beside what it takes."""
    found = loop.with_start(CASES)
    verdict = "holds" if found < MOST_SECONDS else "**does not hold**"
    return Section(
        "Limit",
        f"The wall seconds of a run of {CASES} cases, its start included, from the figures above.",
        ["cases", "measured", "limit", ""],
        [[f"{CASES}", f"{found:.1f}", f"{MOST_SECONDS:.1f}", verdict]],
    )


def _ratios(figures: Mapping[str, Sequence[float]]) -> list[str]:
    """Divide ours by the loop's; on very little data a difference is noise, and may be below 0."""
    pairs = zip(figures[OURS], figures[LOOP], strict=True)
    ratios = [f"{mine / its:.1f}" if min(mine, its) > 0 else "" for mine, its in pairs]
    return ["ours / loop", *ratios]


def _peak(runs: Sequence[Usage]) -> float:
    return max(used.peak_mb for used in runs)


PAGE = Page(HEAD, sections, TAIL)
