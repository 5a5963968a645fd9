"""What was measured of scoring, as it is kept in results/scoring.json, and the page of it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, Field

from benchmarks.kept import Kept, Part
from benchmarks.page import Page, Section, where_and_when
from benchmarks.processes import Usage
from benchmarks.scoring_data import SIZES

PACKAGES = ("medeval", "numpy", "scipy", "scikit-learn", "numba")
NUMPY, NUMBA = "numpy", "numba"

HEAD = """\
# Performance of scoring

<!-- Written by `python -m benchmarks.bench_scoring --write docs/performance_scoring.md`: do not
edit. -->

How long values with bootstrap intervals take at the published sizes and numbers of resamples, on
synthetic predictions. A figure is the user CPU of a whole process, from start to end: truth and
predictions are read as arrays, scored on the data and on every resample, and summarised. Ours is
the best of the runs; peak memory is the largest of them.

- **numpy**: what every installation has. **numba**: what is chosen by itself for large tasks where
  numba is installed; its code was compiled before, as after the first use.
- **scikit-learn loop**: the baseline, run in the same call: one resample after the other, with
  scikit-learn for all that mimic3-benchmarks computes on it (for phenotyping four multilabel areas
  and 25 sets of binary metrics). **with Python loops**: the same, but with the loops over rows and
  thresholds that the published programs have. Both run some iterations only; their full time is
  **extrapolated**, start-up plus seconds per iteration times iterations.
- **recorded**: the published programs themselves, measured once on one core and not in these runs
  (phenotyping, decompensation and length of stay extrapolated from fewer iterations).

Every run's resamples are compared with the baseline's: they are the same to the last digits.
"""

TAIL = """\
## Measure again

```sh
python -m benchmarks.bench_scoring --write docs/performance_scoring.md
python -m benchmarks.bench_scoring --only ihm --runs 5 --iterations-of-baseline 50
```

The figures are kept in `benchmarks/results/scoring.json`.
"""


class Loop(BaseModel, frozen=True):
    """One baseline over some iterations; `loop_user_s` is the part of its CPU in the loop."""

    iterations: int
    loop_user_s: float
    usage: Usage

    def extrapolated(self, n_iters: int) -> float:
        """Return user seconds for so many iterations."""
        start_up = self.usage.user_s - self.loop_user_s
        return start_up + self.loop_user_s / self.iterations * n_iters


class Measured(Part, frozen=True):
    """One task: ours by engine, the drawing alone, and both baselines."""

    ours: dict[str, list[Usage]]
    floor: Usage
    loop: Loop
    published: Loop
    largest_difference: float


class Results(Kept):
    """All tasks measured so far."""

    file = "scoring.json"
    tasks: dict[str, Measured] = Field(default_factory=dict)

    def keep(self, task: str, measured: Measured) -> None:
        """Put a task in the place of an older measurement of it, and keep all."""
        found = {**self.tasks, task: measured}
        self.tasks = {name: found[name] for name in SIZES if name in found}
        self.write()


def packages(engines: Iterable[str]) -> list[str]:
    """Return the packages whose versions matter."""
    return [name for name in PACKAGES if name != NUMBA or NUMBA in engines]


def best(runs: list[Usage]) -> float:
    """Return the least user CPU."""
    return min(run.user_s for run in runs)


def sections(results: Results) -> list[Section]:
    """Return the tables."""
    return [
        where_and_when({task: at.setting for task, at in results.tasks.items()}, "task"),
        speed_section(results),
        baseline_section(results),
        floor_section(results),
    ]


def speed_section(results: Results) -> Section:
    """Show ours, and how many times less it takes than each baseline."""
    section = Section(
        "Time and memory",
        "User CPU seconds, wall seconds and peak MB of ours; then how many times the user CPU of"
        " ours the others take.",
        ["task", "rows", "resamples", "ours", "CPU s", "wall s", "peak MB"],
    )
    section.columns = [*section.columns, "scikit-learn loop", "with Python loops", "recorded"]
    for task, measured in results.tasks.items():
        size = SIZES[task]
        for engine, runs in measured.ours.items():
            seconds = best(runs)
            others = [
                measured.loop.extrapolated(size.n_iters),
                measured.published.extrapolated(size.n_iters),
                size.recorded_s,
            ]
            section.rows.append(
                [
                    task,
                    f"{size.rows:,}",
                    f"{size.n_iters:,}",
                    engine,
                    f"{seconds:.2f}",
                    f"{min(run.wall_s for run in runs):.2f}",
                    f"{max(run.peak_mb for run in runs):,.0f}",
                    *(f"{other / seconds:,.0f} x" for other in others),
                ]
            )
    return section


def baseline_section(results: Results) -> Section:
    """Show what the ratios are made of."""
    section = Section(
        "Baselines",
        "User CPU seconds at the full number of resamples, extrapolated from the iterations named"
        " (recorded: see above); and the largest difference between one of our values and the"
        " baseline's, relative above 1.",
        ["task", "scikit-learn loop", "with Python loops", "recorded", "difference"],
    )
    for task, measured in results.tasks.items():
        size = SIZES[task]
        loops = [
            f"{loop.extrapolated(size.n_iters):,.0f} (of {loop.iterations})"
            for loop in (measured.loop, measured.published)
        ]
        difference = f"{measured.largest_difference:.0e}"
        section.rows.append([task, *loops, f"{size.recorded_s:,.0f}", difference])
    return section


def floor_section(results: Results) -> Section:
    """Show the cost of one row in one resample."""
    section = Section(
        "Nanoseconds per row and resample",
        "User CPU of the whole process over rows times resamples. The floor is numpy's own"
        " `RandomState.randint` drawing the same indices, and nothing done with them.",
        ["task", "floor", "numpy", "numba", "numpy / numba (CPU)", "numpy / numba (wall)"],
    )
    for task, measured in results.tasks.items():
        size = SIZES[task]
        steps = size.rows * size.n_iters
        engines = [best(measured.ours[name]) for name in (NUMPY, NUMBA) if name in measured.ours]
        row = [f"{seconds / steps * 1e9:.2f}" for seconds in (measured.floor.user_s, *engines)]
        if len(engines) > 1:
            walls = [min(run.wall_s for run in measured.ours[name]) for name in (NUMPY, NUMBA)]
            row += [f"{engines[0] / engines[1]:.1f} x", f"{walls[0] / walls[1]:.1f} x"]
        else:
            row += ["", "", ""]
        section.rows.append([task, *row])
    return section


PAGE = Page(HEAD, sections, TAIL)
