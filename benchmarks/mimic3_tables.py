"""The results of the MIMIC-III floor as titled tables of text."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figures import center, ratio, runs, spread, user, wall
from benchmarks.mimic3_results import Copies, Demo, Memory, Postgres, Recorded, Results
from benchmarks.page import Section, where_and_when
from benchmarks.processes import Usage

OURS = "dbt build + export"
BASELINE = "patient by patient"
PEER = "mimic3-benchmarks (recorded)"
COMPARISON = ["", "wall s", "user CPU s", "peak MB", "wall ratio", "user CPU ratio"]


def sections(results: Results) -> list[Section]:
    """Return the sections of the parts that were measured."""
    found = [where_and_when(results.settings())]
    if results.demo:
        found.append(demo_section(results.demo))
    if results.copies:
        found += [copies_section(results.copies), growth_section(results.copies)]
    if results.memory:
        found += [memory_section(results.memory), synth_section(results.memory)]
    if results.postgres:
        found.append(postgres_section(results.postgres))
    return found


def demo_section(demo: Demo) -> Section:
    """Small data: the start of every process counts."""
    section = Section(
        "A small data set",
        f"{demo.data}: {demo.events:,} events; {runs(demo.ours)}. Much of it is the start of the"
        " commands: the next section says how much.",
        COMPARISON,
    )
    section.rows += comparison(demo.ours, demo.baseline, demo.recorded)
    return section


def copies_section(copies: Copies) -> Section:
    """Many copies: the work on the events counts."""
    start = center(copies.start_up.ours, user)
    net = [used.user_s - start for used in copies.ours]
    section = Section(
        "Many copies",
        f"{copies.data}, {copies.copies} times under new ids: {copies.events:,} events;"
        f" {runs(copies.ours)}. Start-up is the same two commands on `demo/mimic3`"
        f" ({copies.start_up.events:,} events). The last column compares with ours less start-up;"
        " nothing is taken off the others.",
        [*COMPARISON, "ratio less start-up"],
    )
    ours, *others = comparison(copies.ours, copies.baseline, copies.recorded)
    section.rows += [
        [*ours, ""],
        [*usage_row("of which start-up", copies.start_up.ours), ""],
        [f"{OURS} less start-up", "", spread(net), "", "", "", ""],
    ]
    compared = [list(map(user, copies.baseline))] if copies.baseline else []
    if copies.recorded:
        compared.append([copies.recorded.user_s] * len(net))
    for row, seconds in zip(others, compared, strict=True):
        # On very little data the difference is noise, and may be below zero.
        section.rows.append([*row, spread(ratio(seconds, net)) if min(net) > 0 else ""])
    return section


def growth_section(copies: Copies) -> Section:
    """The cost of a million events at each size."""
    section = Section(
        "Growth",
        f"User CPU of {OURS}. The cost is linear or better where the last column, the seconds for"
        " each million events more than in the row above, does not grow. It is the difference of"
        " two figures of about the same size in the first rows, so look at the last ones.",
        ["copies", "events", "user CPU s", "peak MB", "s per million", "s per further million"],
    )
    before = copies.start_up
    for point in (copies.start_up, *copies.growth):
        used, more = center(point.ours, user), point.events - before.events
        further = (used - center(before.ours, user)) / more * 1e6 if more else None
        section.rows.append(
            [
                f"{point.copies}" if point.copies else "start-up",
                f"{point.events:,}",
                spread(map(user, point.ours)),
                f"{max(used.peak_mb for used in point.ours):,.0f}",
                f"{used / point.events * 1e6:.2f}",
                "" if further is None else f"{further:.2f}",
            ]
        )
        before = point
    return section


def memory_section(memory: Memory) -> Section:
    """Much data, little memory."""
    section = Section(
        "Bounded memory",
        f"{memory.chart_events:,} chart events ({memory.events:,} events in all) of"
        f" {memory.patients:,} synthetic patients, once, with"
        f" `MEDEVAL_MEMORY_LIMIT={memory.memory_limit}`. Peak memory is that of the whole process,"
        " not of DuckDB alone.",
        ["", "wall s", "user CPU s", "events per s", "peak MB", "spilled MB"],
    )
    for name, used in (("dbt build", memory.build), ("export", memory.export)):
        speed = f"{memory.events / used.wall_s:,.0f}" if used is memory.build else ""
        section.rows.append(
            [
                name,
                f"{used.wall_s:.1f}",
                f"{used.user_s:.1f}",
                speed,
                f"{used.peak_mb:,.0f}",
                f"{used.spill_mb:,.0f}",
            ]
        )
    return section


def synth_section(memory: Memory) -> Section:
    """The speed of the generator."""
    used = memory.synth
    section = Section(
        "Synthetic data",
        "`python -m medeval synth mimic3` for the same data, compressed files and all.",
        ["events", "wall s", "user CPU s", "events per s", "peak MB"],
    )
    speed = memory.events / used.wall_s
    numbers = [f"{used.wall_s:.1f}", f"{used.user_s:.1f}", f"{speed:,.0f}", f"{used.peak_mb:,.0f}"]
    section.rows.append([f"{memory.events:,}", *numbers])
    return section


def postgres_section(part: Postgres) -> Section:
    """The server engine."""
    section = Section(
        "PostgreSQL",
        f"{part.data}: {part.events:,} events, PostgreSQL {part.server} with default settings on"
        " the same machine, once. CPU and memory are the server's and are not shown.",
        ["", "wall s", "events per s"],
    )
    for name, used in (("load", part.load), ("dbt build", part.build)):
        section.rows.append([name, f"{used.wall_s:.1f}", f"{part.events / used.wall_s:,.0f}"])
    return section


def comparison(
    ours: list[Usage], baseline: list[Usage], other: Recorded | None
) -> list[Sequence[str]]:
    """Return a row for each way that was measured or recorded."""
    rows: list[Sequence[str]] = [usage_row(OURS, ours)]
    if baseline:
        ratios = [
            spread(ratio(map(figure, baseline), map(figure, ours))) for figure in (wall, user)
        ]
        rows.append([*usage_row(BASELINE, baseline)[:4], *ratios])
    if other:
        of_user = spread(other.user_s / used.user_s for used in ours)
        seconds = of_wall = ""
        if other.wall_s is not None:
            seconds = f"{other.wall_s:.1f}"
            of_wall = spread(other.wall_s / used.wall_s for used in ours)
        rows.append([PEER, seconds, f"{other.user_s:.1f}", "", of_wall, of_user])
    return rows


def usage_row(name: str, usages: list[Usage]) -> Sequence[str]:
    """Return the row of one way, without ratios."""
    peak = f"{max(used.peak_mb for used in usages):,.0f}"
    return [name, spread(map(wall, usages)), spread(map(user, usages)), peak, "", ""]
