"""The parts of the MIMIC-III benchmark: what is run how often, and on which data."""

from __future__ import annotations

from pathlib import Path

from benchmarks import postgres
from benchmarks.command_line import Say
from benchmarks.commands import (
    DEMO,
    EVENT_TABLES,
    Workplace,
    make_copies,
    patient_by_patient,
    synthesize,
    synthetic_rows,
)
from benchmarks.mimic3_results import (
    Copies,
    Demo,
    Memory,
    Point,
    Postgres,
    Recorded,
    measured,
    recorded,
)
from benchmarks.processes import Usage

REAL = "MIMIC-III demo 1.4"
# MIMIC-III has 5,400 chart events a stay and 1.3 stays a patient.
EVENTS_PER_STAY = 5_000
STAYS_PER_PATIENT = 1.3


class Source:
    """The small data set: the MIMIC-III demo where it is there, else the synthetic demo."""

    def __init__(self, mimic3_demo: Path) -> None:
        self.is_real = mimic3_demo.is_dir()
        self.folder = mimic3_demo.resolve() if self.is_real else DEMO
        self.name = REAL if self.is_real else "demo/mimic3 (synthetic)"

    def recorded(self, shared: Path, copies: int) -> Recorded | None:
        """Return what mimic3-benchmarks' scripts took on so many copies of this data set."""
        return recorded(shared / "golden" / "mimic3_demo", copies) if self.is_real else None

    def copied(self, cache: Path, copies: int) -> Path:
        """Return a folder with copies of this data set; they are made once."""
        kind = "real" if self.is_real else "synthetic"
        return make_copies(self.folder, cache / f"{kind}_x{copies}", copies)


def measure_demo(source: Source, shared: Path, folder: Path, runs: int, say: Say) -> Demo:
    """Run both ways in turn on the small data set."""
    workplace = Workplace(folder / "demo")
    ours, baseline = [], []
    for run in range(1, runs + 1):
        ours.append(workplace.build_and_export(source.folder))
        baseline.append(patient_by_patient(source.folder, folder / "listfiles"))
        say(f"demo, run {run} of {runs}: {seconds(ours[-1])}, baseline {seconds(baseline[-1])}")
    return Demo(
        **measured(source.name, workplace.exported_events()),
        ours=ours,
        baseline=baseline,
        recorded=source.recorded(shared, copies=1),
    )


def measure_copies(
    source: Source,
    shared: Path,
    folder: Path,
    cache: Path,
    sizes: list[int],
    runs: int,
    with_baseline: bool,
    say: Say,
) -> Copies:
    """Run both ways on `sizes[0]` copies, and ours on one copy and every other size as well."""
    workplace = Workplace(folder / "copies")
    data: dict[int, Path | None] = {0: None, 1: source.folder}
    for size in sizes:
        if size not in data:
            say(f"copies: making {size}")
            data[size] = source.copied(cache, size)
    ours: dict[int, list[Usage]] = {size: [] for size in data}
    events: dict[int, int] = {}
    baseline = []
    for run in range(1, runs + 1):
        for size, place in data.items():
            ours[size].append(workplace.build_and_export(place))
            events[size] = workplace.exported_events()
            say(f"copies, run {run} of {runs}, {size or 'start-up'}: {seconds(ours[size][-1])}")
        if with_baseline:
            files = data[sizes[0]] or DEMO
            baseline.append(patient_by_patient(files, folder / "listfiles"))
            say(f"copies, run {run} of {runs}, baseline: {seconds(baseline[-1])}")
    points = {size: Point(copies=size, events=events[size], ours=ours[size]) for size in data}
    return Copies(
        **measured(source.name, events[sizes[0]]),
        copies=sizes[0],
        ours=ours[sizes[0]],
        baseline=baseline,
        recorded=source.recorded(shared, sizes[0]),
        start_up=points[0],
        growth=[points[size] for size in sorted(points) if size],
    )


def measure_memory(folder: Path, chart_events: int, limit: str, say: Say) -> Memory:
    """Build much synthetic data with little memory, once."""
    patients = max(20, round(chart_events / EVENTS_PER_STAY / STAYS_PER_PATIENT))
    data = folder / "synthetic"
    say(f"memory: {patients:,} synthetic patients")
    synth = synthesize(data, patients, EVENTS_PER_STAY)
    rows = synthetic_rows(data)
    say(f"memory: {rows['chartevents']:,} chart events in {seconds(synth)}")
    workplace = Workplace(folder / "memory", {"MEDEVAL_MEMORY_LIMIT": limit})
    build = workplace.build(data)
    say(f"memory: build {seconds(build)}, peak {build.peak_mb:,.0f} MB")
    export = workplace.export()
    say(f"memory: export {seconds(export)}, peak {export.peak_mb:,.0f} MB")
    return Memory(
        **measured("synthetic", sum(rows[table] for table in EVENT_TABLES)),
        patients=patients,
        chart_events=rows["chartevents"],
        memory_limit=limit,
        synth=synth,
        build=build,
        export=export,
    )


def measure_postgres(source: Source, folder: Path, cache: Path, copies: int, say: Say) -> Postgres:
    """Load the copies into a server of our own and build there, once."""
    data = source.copied(cache, copies)
    with postgres.server() as (address, version):
        workplace = Workplace(folder / "postgres", address, target="postgres")
        load = workplace.load(data)
        say(f"postgres: load {seconds(load)}")
        build = workplace.build(None)
        say(f"postgres: build {seconds(build)}")
        workplace.export()
        return Postgres(
            **measured(f"{source.name}, {copies} times", workplace.exported_events()),
            server=version,
            load=load,
            build=build,
        )


def seconds(usage: Usage) -> str:
    """Say how long a command took."""
    return f"{usage.wall_s:.1f} s ({usage.user_s:.1f} s user CPU)"
