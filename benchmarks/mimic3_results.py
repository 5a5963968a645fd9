"""What was measured of the MIMIC-III floor, as it is kept in results/mimic3.json."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.kept import KeptParts, Part, setting
from benchmarks.processes import Usage

VERSIONS = ("medeval", "dbt-core", "dbt-duckdb", "duckdb", "pandas")


class Measured(Part, frozen=True):
    """One part of the benchmark."""

    data: str
    events: int


class Recorded(BaseModel, frozen=True):
    """Seconds of mimic3-benchmarks' own scripts, all stages together, measured once.

    There is no wall time where other work shared the machine.
    """

    user_s: float
    wall_s: float | None = None


class Demo(Measured, frozen=True):
    """Both ways from files to listfiles on a small data set, run by run."""

    ours: list[Usage]
    baseline: list[Usage]
    recorded: Recorded | None = None


class Point(BaseModel, frozen=True):
    """One size of the data."""

    copies: int
    events: int
    ours: list[Usage]


class Copies(Measured, frozen=True):
    """Both ways on many copies of the small data set, and the cost by size."""

    copies: int
    ours: list[Usage]
    baseline: list[Usage]
    recorded: Recorded | None = None
    start_up: Point
    growth: list[Point]


class Memory(Measured, frozen=True):
    """Large synthetic data with little memory."""

    patients: int
    chart_events: int
    memory_limit: str
    synth: Usage
    build: Usage
    export: Usage


class Postgres(Measured, frozen=True):
    """Load into a local server and build there; CPU and memory are the server's, not shown."""

    server: str
    load: Usage
    build: Usage


class Results(KeptParts):
    """All parts measured so far."""

    file = "mimic3.json"
    demo: Demo | None = None
    copies: Copies | None = None
    memory: Memory | None = None
    postgres: Postgres | None = None


# Measured once on 2 cores with Python 3.11 and pandas 1.5.3: on the demo, and on ten copies of it.
RECORDED = {1: Recorded(wall_s=21.0, user_s=18.6), 10: Recorded(user_s=161.5)}
TIMINGS = {1: "peer_timings.csv", 10: "peer_timings_x10.csv"}


def recorded(folder: Path, copies: int) -> Recorded | None:
    """Sum the recorded stages of so many copies of the demo, or take the kept sums."""
    if copies not in RECORDED:
        return None
    kept, timings = RECORDED[copies], folder / TIMINGS[copies]
    if not timings.is_file():
        return kept
    with timings.open(encoding="utf-8", newline="") as file:
        stages = list(csv.DictReader(file))
    wall = sum(float(stage["wall_s"]) for stage in stages)
    user = sum(float(stage["user_s"]) for stage in stages)
    return Recorded(user_s=round(user, 2), wall_s=round(wall, 2) if kept.wall_s else None)


def measured(data: str, events: int) -> dict[str, Any]:
    """Return the fields that all parts have."""
    return {"setting": setting(VERSIONS), "data": data, "events": events}
