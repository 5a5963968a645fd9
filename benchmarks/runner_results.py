"""What was measured of runs, as it is kept in results/runner.json, and the page of it."""

from __future__ import annotations

from pydantic import BaseModel

from benchmarks.asking import LOOP, OURS, Asked, comparison
from benchmarks.kept import KeptParts, Part
from benchmarks.page import Page, Section, where_and_when

NAMES = {OURS: "run with journal and audit", LOOP: "bare AsyncOpenAI loop"}

HEAD = """\
# Performance of runs

<!-- Written by `python -m benchmarks.bench_runner --write docs/performance_runner.md`: do not
edit. -->

What a run adds to the client that it stands on. Both ways ask the same endpoint on this machine, a
process of its own that answers after a fixed time; every prompt is as long as a note (7 kB).

- **run with journal and audit**: ours. Items come from an iterator; every request passes the gate
  and leaves a line in the audit, every answer is in the journal before the next item is taken.
- **bare AsyncOpenAI loop**: the baseline, run in turns with ours in the same call: a task per item
  behind a semaphore, all answers in a list and one file at the end. Nothing is kept if it is
  stopped.

Both are processes of their own, and both must have every item answered.
"""

TAIL = """\
## Measure again

```sh
python -m benchmarks.bench_runner --write docs/performance_runner.md
python -m benchmarks.bench_runner --only speed --requests 1000 --concurrency 64 --runs 5
python -m benchmarks.bench_runner --render --write docs/performance_runner.md
```

The figures are kept in `benchmarks/results/runner.json`.
"""


class Speed(Part, frozen=True):
    """Both ways, run by run, against an endpoint that takes its time."""

    requests: int
    concurrency: int
    reply_ms: int
    runs: dict[str, list[Asked]]


class Size(BaseModel, frozen=True):
    """One number of items, once each way."""

    items: int
    runs: dict[str, Asked]


class Memory(Part, frozen=True):
    """Few items and many, against an endpoint that answers at once."""

    concurrency: int
    few: Size
    many: Size


class Results(KeptParts):
    """All parts measured so far."""

    file = "runner.json"
    speed: Speed | None = None
    memory: Memory | None = None


def sections(results: Results) -> list[Section]:
    """Return the tables of the parts that were measured."""
    found = [where_and_when(results.settings())]
    if results.speed:
        found.append(speed_section(results.speed))
    if results.memory:
        found.append(memory_section(results.memory))
    return found


def speed_section(speed: Speed) -> Section:
    """Show the best of both ways and their ratios."""
    return Section(
        "Time and CPU",
        f"{speed.requests:,} requests, {speed.concurrency} under way at a time, each answered after"
        f" {speed.reply_ms} ms; no way can be faster than"
        f" {speed.requests / speed.concurrency * speed.reply_ms / 1000:.2f} s. The best of"
        f" {len(speed.runs[OURS])} runs each, of the asking alone: without the start of Python and"
        " the imports. CPU is the client's, user and system. Each figure's best run counts.",
        ["", "wall s", "CPU s", "CPU ms per request"],
        comparison(speed.runs, NAMES, speed.requests),
    )


def memory_section(memory: Memory) -> Section:
    """Show what more items cost in memory."""
    few, many = memory.few, memory.many
    section = Section(
        "Bounded memory",
        f"Peak memory of the whole process at {few.items:,} and at {many.items:,} items, once each,"
        f" {memory.concurrency} under way at a time, answered at once. A run holds the items under"
        " way and a short entry per item, never the texts.",
        ["", f"MB at {few.items:,}", f"MB at {many.items:,}", "ratio", "bytes per further item"],
    )
    for kind in (OURS, LOOP):
        peaks = [size.runs[kind].usage.peak_mb for size in (few, many)]
        further = (peaks[1] - peaks[0]) * 1e6 / (many.items - few.items)
        section.rows.append(
            [
                NAMES[kind],
                *(f"{peak:,.0f}" for peak in peaks),
                f"{peaks[1] / peaks[0]:.2f}",
                f"{further:,.0f}",
            ]
        )
    return section


PAGE = Page(HEAD, sections, TAIL)
