"""What was measured of judgings, as it is kept in results/judging.json, and the page of it."""

from __future__ import annotations

from benchmarks.asking import LOOP, OURS, Asked, comparison
from benchmarks.kept import KeptParts, Part
from benchmarks.page import Page, Section, where_and_when
from benchmarks.processes import Usage

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


class Judged(Asked, frozen=True):
    """One run of one way, and what it brought."""

    rewarded: int
    calls: int


class Speed(Part, frozen=True):
    """Both ways, run by run, against an endpoint that takes its time."""

    items: int
    concurrency: int
    reply_ms: int
    runs: dict[str, list[Judged]]


class Start(Part, frozen=True):
    """The start of Python and the import of all that a judged run needs."""

    runs: list[Usage]


class Limited(Part, frozen=True):
    """A run against an endpoint that takes fewer calls at a time than are made."""

    items: int
    concurrency: int
    server_limit: int
    reply_ms: int
    run: Judged
    refused: int


class Results(KeptParts):
    """All parts measured so far."""

    file = "judging.json"
    speed: Speed | None = None
    start: Start | None = None
    limited: Limited | None = None


def sections(results: Results) -> list[Section]:
    """Return the tables of the parts that were measured."""
    found = [where_and_when(results.settings())]
    if results.speed:
        found.append(speed_section(results.speed))
    if results.start:
        found.append(start_section(results.start))
    if results.limited:
        found.append(limited_section(results.limited))
    return found


def speed_section(speed: Speed) -> Section:
    """Show the best of both ways and their ratios."""
    calls = speed.runs[OURS][0].calls
    return Section(
        "Time and CPU",
        f"{speed.items:,} items, three judges, {calls:,} calls, {speed.concurrency} under way at a"
        f" time, each answered after {speed.reply_ms} ms; no way can be faster than"
        f" {calls / speed.concurrency * speed.reply_ms / 1000:.2f} s. The best of"
        f" {len(speed.runs[OURS])} runs each, of the asking and judging alone: without the start of"
        " Python and the imports. CPU is the client's, user and system. Each figure's best run"
        f" counts. Aim: at most {MOST_TIMES} times the loop's wall time.",
        ["", "wall s", "CPU s", "CPU ms per call"],
        comparison(speed.runs, NAMES, calls),
    )


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


PAGE = Page(HEAD, sections, TAIL)
