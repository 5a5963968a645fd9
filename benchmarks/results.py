"""What was measured, as it is kept in results/mimic3.json."""

from __future__ import annotations

import csv
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.processes import Usage

RESULTS = Path(__file__).with_name("results") / "mimic3.json"
VERSIONS = ("medeval", "dbt-core", "dbt-duckdb", "duckdb", "pandas")


class Setting(BaseModel, frozen=True):
    """When and on what a part was measured; no name of a machine, user or folder."""

    date: str
    cores: int
    memory_gb: int
    system: str
    versions: dict[str, str]


class Measured(BaseModel, frozen=True):
    """One part of the benchmark."""

    setting: Setting
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


class Results(BaseModel):
    """All parts measured so far."""

    demo: Demo | None = None
    copies: Copies | None = None
    memory: Memory | None = None
    postgres: Postgres | None = None

    @classmethod
    def read(cls) -> Results:
        """Read the kept results; none where there is no file yet."""
        if not RESULTS.exists():
            return cls()
        return cls.model_validate_json(RESULTS.read_text(encoding="utf-8"))

    def merge(self, part: Measured) -> None:
        """Put a part in the place of an older measurement of it, and keep all."""
        setattr(self, type(part).__name__.lower(), part)
        replace_text(RESULTS, self.model_dump_json(indent=2, exclude_none=True) + "\n")


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


def setting() -> Setting:
    """Describe this moment and machine."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Setting(
        date=datetime.now(UTC).date().isoformat(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(memory / 2**30),
        system=f"{platform.system()} {platform.machine()}",
        versions={"python": platform.python_version(), **{n: version(n) for n in VERSIONS}},
    )


def measured(data: str, events: int) -> dict[str, Any]:
    """Return the fields that all parts have."""
    return {"setting": setting(), "data": data, "events": events}


def replace_text(path: Path, text: str) -> None:
    """Write a file beside its place and move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
