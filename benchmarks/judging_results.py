"""What was measured of judgings, as it is kept in results/judging.json, and the page of it."""

from __future__ import annotations

import textwrap
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel

from benchmarks.processes import Usage
from benchmarks.results import Setting, replace_text, setting
from benchmarks.tables import Section

RESULTS = Path(__file__).with_name("results") / "judging.json"
PACKAGES = ("medeval", "openai", "httpx2")
OURS, LOOP = "ours", "loop"
# What the asking took and brought, in the folder of each measured process.
ASKED = "asked.json"
NAMES = {OURS: "run and judge", LOOP: "bare AsyncOpenAI loop"}
# Ours may take so many times the loop's wall time, and so long to start.
MOST_TIMES, MOST_SECONDS = 1.3, 3.0

HEAD = """\
# Performance of judging

<!-- Written by `python -m benchmarks.bench_judging --write docs/performance_judging.md`: do not
edit. -->

What a judged run takes beside the client that it stands on. Both ways ask the same endpoint on
this machine, a process of its own that answers after a fixed time. Every item is answered by a
model and graded by three judges: four calls, of which the last three need the first.

- **run and judge**: ours, by the functions that the command `run` calls. All answers first, then
  all judges side by side. Every request passes the gate and leaves a line in the audit, every reply
  is in a journal, verdicts are read, checked and joined, and the results have intervals.
- **bare AsyncOpenAI loop**: the baseline, run in turns with ours in the same call. Each item's
  judges are asked as soon as its answer is there; one limit holds for all calls. It sends the same
  prompts and reads the verdicts with `json.loads`. Nothing is kept if it is stopped.

Both are processes of their own, and both must bring every item to its reward.
"""

TAIL = """\
## Measure again

```sh
python -m benchmarks.bench_judging --write docs/performance_judging.md
python -m benchmarks.bench_judging --only speed --items 131 --concurrency 64 --runs 5
python -m benchmarks.bench_judging --render --write docs/performance_judging.md
```

The figures are kept in `benchmarks/results/judging.json`.
"""


class Asked(BaseModel, frozen=True):
    """One run of one way: what the asking took, what it brought, and the whole process."""

    wall_s: float
    cpu_s: float
    rewarded: int
    calls: int
    usage: Usage


class Speed(BaseModel, frozen=True):
    """Both ways, run by run, against an endpoint that takes its time."""

    setting: Setting
    items: int
    concurrency: int
    reply_ms: int
    runs: dict[str, list[Asked]]


class Start(BaseModel, frozen=True):
    """The start of Python and the import of all that a judged run needs."""

    setting: Setting
    runs: list[Usage]


class Limited(BaseModel, frozen=True):
    """A run against an endpoint that takes fewer calls at a time than are made."""

    setting: Setting
    items: int
    concurrency: int
    server_limit: int
    reply_ms: int
    run: Asked
    refused: int


class Results(BaseModel):
    """All parts measured so far."""

    speed: Speed | None = None
    start: Start | None = None
    limited: Limited | None = None

    @classmethod
    def read(cls) -> Results:
        """Read the kept results; none where there is no file yet."""
        if not RESULTS.exists():
            return cls()
        return cls.model_validate_json(RESULTS.read_text(encoding="utf-8"))

    def keep(self, part: Speed | Start | Limited) -> None:
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
    if results.start:
        found.append(start_section(results.start))
    if results.limited:
        found.append(limited_section(results.limited))
    return found


def where_section(results: Results) -> Section:
    """Name the machine, the versions and the day of each part."""
    section = Section("Where and when", "", ["part", "date", "machine", "versions"])
    parts = {"speed": results.speed, "start": results.start, "limited": results.limited}
    for name, part in parts.items():
        if part:
            at = part.setting
            machine = f"{at.cores} cores, {at.memory_gb} GB, {at.system}"
            versions = ", ".join(f"{package} {number}" for package, number in at.versions.items())
            section.rows.append([name, at.date, machine, versions])
    return section


def speed_section(speed: Speed) -> Section:
    """Show the best of both ways and their ratios."""
    calls = speed.runs[OURS][0].calls
    section = Section(
        "Time and CPU",
        f"{speed.items:,} items, three judges, {calls:,} calls, {speed.concurrency} under way at a"
        f" time, each answered after {speed.reply_ms} ms; no way can be faster than"
        f" {calls / speed.concurrency * speed.reply_ms / 1000:.2f} s. The best of"
        f" {len(speed.runs[OURS])} runs each, of the asking and judging alone: without the start of"
        " Python and the imports. CPU is the client's, user and system. Each figure's best run"
        f" counts. Aim: at most {MOST_TIMES} times the loop's wall time.",
        ["", "wall s", "CPU s", "CPU ms per call"],
    )
    best = {
        kind: (min(run.wall_s for run in runs), min(run.cpu_s for run in runs))
        for kind, runs in speed.runs.items()
    }
    for kind, (wall, cpu) in best.items():
        each = f"{cpu / calls * 1000:.2f}"
        section.rows.append([NAMES[kind], f"{wall:.2f}", f"{cpu:.2f}", each])
    ratios = [f"{mine / theirs:.2f}" for mine, theirs in zip(best[OURS], best[LOOP], strict=True)]
    section.rows.append(["ours / loop", *ratios, ""])
    return section


def start_section(start: Start) -> Section:
    """Show how long the start takes."""
    best = min(start.runs, key=lambda usage: usage.wall_s)
    return Section(
        "Start",
        f"Python and all imports of a judged run, the best of {len(start.runs)} runs. Aim: below"
        f" {MOST_SECONDS:g} s.",
        ["", "wall s", "CPU s", "peak MB"],
        [
            [
                "start and imports",
                f"{best.wall_s:.2f}",
                f"{best.user_s + best.system_s:.2f}",
                f"{best.peak_mb:,.0f}",
            ]
        ],
    )


def limited_section(limited: Limited) -> Section:
    """Show that nothing is lost where an endpoint takes fewer calls than are made."""
    run = limited.run
    return Section(
        "An endpoint that takes fewer",
        f"{limited.items:,} items and three judges, {limited.concurrency} calls under way at a time"
        f" to an endpoint that refuses (429, without a time to wait) whatever is beyond"
        f" {limited.server_limit}. Aim: every item has its answer and all its verdicts.",
        ["items", "with all verdicts", "calls needed", "calls refused", "wall s"],
        [
            [
                f"{limited.items:,}",
                f"{run.rewarded:,}",
                f"{run.calls:,}",
                f"{limited.refused:,}",
                f"{run.wall_s:.1f}",
            ]
        ],
    )


def markdown(results: Results) -> str:
    """Return the page."""
    blocks = []
    for section in sections(results):
        lines = [section.columns, ["---"] * len(section.columns), *section.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        text = textwrap.fill(section.text, 100, break_on_hyphens=False)
        blocks.append("\n\n".join(filter(None, [f"## {section.title}", text, table])) + "\n")
    return "\n".join([HEAD, *blocks, TAIL])
