"""What was measured of runs, as it is kept in results/runner.json, and the page of it."""

from __future__ import annotations

import textwrap
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel

from benchmarks.processes import Usage
from benchmarks.results import Setting, replace_text, setting
from benchmarks.tables import Section

RESULTS = Path(__file__).with_name("results") / "runner.json"
PACKAGES = ("medeval", "openai", "httpx2")
OURS, LOOP = "ours", "loop"
# What the asking took, in the folder of each measured process.
ASKED = "asked.json"
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


class Asked(BaseModel, frozen=True):
    """One run of one way: what the asking took, and the whole process."""

    wall_s: float
    cpu_s: float
    usage: Usage


class Speed(BaseModel, frozen=True):
    """Both ways, run by run, against an endpoint that takes its time."""

    setting: Setting
    requests: int
    concurrency: int
    reply_ms: int
    runs: dict[str, list[Asked]]


class Size(BaseModel, frozen=True):
    """One number of items, once each way."""

    items: int
    runs: dict[str, Asked]


class Memory(BaseModel, frozen=True):
    """Few items and many, against an endpoint that answers at once."""

    setting: Setting
    concurrency: int
    few: Size
    many: Size


class Results(BaseModel):
    """All parts measured so far."""

    speed: Speed | None = None
    memory: Memory | None = None

    @classmethod
    def read(cls) -> Results:
        """Read the kept results; none where there is no file yet."""
        if not RESULTS.exists():
            return cls()
        return cls.model_validate_json(RESULTS.read_text(encoding="utf-8"))

    def keep(self, part: Speed | Memory) -> None:
        """Put a part in the place of an older measurement of it, and keep all."""
        setattr(self, type(part).__name__.lower(), part)
        replace_text(RESULTS, self.model_dump_json(indent=2, exclude_none=True) + "\n")


def here() -> Setting:
    """Describe this moment and machine."""
    at = setting()
    versions = {"python": at.versions["python"], **{name: version(name) for name in PACKAGES}}
    return at.model_copy(update={"versions": versions})


def sections(results: Results) -> list[Section]:
    """Return the tables of the parts that were measured."""
    found = [where_section(results)]
    if results.speed:
        found.append(speed_section(results.speed))
    if results.memory:
        found.append(memory_section(results.memory))
    return found


def where_section(results: Results) -> Section:
    """Name the machine, the versions and the day of each part."""
    section = Section("Where and when", "", ["part", "date", "machine", "versions"])
    for name, part in (("speed", results.speed), ("memory", results.memory)):
        if part:
            at = part.setting
            machine = f"{at.cores} cores, {at.memory_gb} GB, {at.system}"
            versions = ", ".join(f"{package} {number}" for package, number in at.versions.items())
            section.rows.append([name, at.date, machine, versions])
    return section


def speed_section(speed: Speed) -> Section:
    """Show the best of both ways and their ratios."""
    section = Section(
        "Time and CPU",
        f"{speed.requests:,} requests, {speed.concurrency} under way at a time, each answered after"
        f" {speed.reply_ms} ms; no way can be faster than"
        f" {speed.requests / speed.concurrency * speed.reply_ms / 1000:.2f} s. The best of"
        f" {len(speed.runs[OURS])} runs each, of the asking alone: without the start of Python and"
        " the imports. CPU is the client's, user and system. Each figure's best run counts.",
        ["", "wall s", "CPU s", "CPU ms per request"],
    )
    best = {
        kind: (min(run.wall_s for run in runs), min(run.cpu_s for run in runs))
        for kind, runs in speed.runs.items()
    }
    for kind, (wall, cpu) in best.items():
        each = f"{cpu / speed.requests * 1000:.2f}"
        section.rows.append([NAMES[kind], f"{wall:.2f}", f"{cpu:.2f}", each])
    ratios = [f"{mine / theirs:.2f}" for mine, theirs in zip(best[OURS], best[LOOP], strict=True)]
    section.rows.append(["ours / loop", *ratios, ""])
    return section


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


def markdown(results: Results) -> str:
    """Return the page."""
    blocks = []
    for section in sections(results):
        lines = [section.columns, ["---"] * len(section.columns), *section.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        text = textwrap.fill(section.text, 100, break_on_hyphens=False)
        blocks.append("\n\n".join(filter(None, [f"## {section.title}", text, table])) + "\n")
    return "\n".join([HEAD, *blocks, TAIL])
