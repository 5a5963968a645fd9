"""Speed and memory of the MIMIC-III listfiles, beside a baseline measured in the same call.

python -m benchmarks.mimic3                          # demo, copies and memory
python -m benchmarks.mimic3 --only demo --runs 5     # one part; the others are kept
python -m benchmarks.mimic3 --render                 # the page, nothing is measured
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.copies import EVENTS
from benchmarks.measuring import ORACLES, ROOT, Usage, function, measure
from benchmarks.pages import Benchmark, say
from benchmarks.warehouses import Workplace, postgres, synthesize, synthetic_rows

SHARED = Path(os.environ.get("MEDEVAL_SHARED") or ROOT.parent / "shared")
REAL = "MIMIC-III demo 1.4"
DEMO = ROOT / "demo" / "mimic3"
# MIMIC-III has 5,400 chart events a stay and 1.3 stays a patient.
EVENTS_PER_STAY = 5_000
STAYS_PER_PATIENT = 1.3
# Of mimic3-benchmarks' own scripts, all stages together, measured once on 2 cores with Python 3.11
# and pandas 1.5.3, on so many copies of the demo; no wall time where other work shared the machine.
RECORDED = {
    (REAL, 1): {"recorded": {"user_s": 18.64, "wall_s": 21.02}},
    (REAL, 10): {"recorded": {"user_s": 161.49}},
}


def demo(mimic3_demo: str = str(SHARED / "data" / "mimic3_demo"), runs: int = 3) -> dict[str, Any]:
    """Both ways in turn on the small data set: the MIMIC-III demo if it is there, else our own."""
    name, source = small(mimic3_demo)
    ours, baseline = [], []
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        workplace = Workplace(Path(temporary) / "demo", "mimic3")
        for run in range(1, runs + 1):
            ours.append(workplace.build_and_export(MEDEVAL_MIMIC3_DIR=source))
            baseline.append(patient_by_patient(source, Path(temporary) / "listfiles"))
            say(f"demo, run {run} of {runs}: {ours[-1]}, baseline {baseline[-1]}")
        found = {"data": name, "events": exported_events(workplace), "ours": ours}
    return {**found, "baseline": baseline, **RECORDED.get((name, 1), {})}


def copies(
    mimic3_demo: str = str(SHARED / "data" / "mimic3_demo"),
    runs: int = 3,
    copies: int = 10,
    growth: tuple[int, ...] = (),
    cache: str = "",
) -> dict[str, Any]:
    """Both ways on copies of the small data set, and ours on one and on other numbers as well."""
    name, source = small(mimic3_demo)
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        folder = Path(temporary)
        workplace = Workplace(folder / "copies", "mimic3")
        # The smallest is our own demo, whose time is nearly all start-up.
        data = {0: DEMO, 1: source}
        for size in (copies, *growth):
            data[size] = data.get(size) or copied(name, source, cache or folder / "data", size)
        points: dict[int, dict[str, Any]] = {size: {"copies": size, "ours": []} for size in data}
        baseline = []
        for run in range(1, runs + 1):
            for size, point in points.items():
                point["ours"].append(workplace.build_and_export(MEDEVAL_MIMIC3_DIR=data[size]))
                point["events"] = exported_events(workplace)
                say(f"copies, run {run} of {runs}, {size or 'start-up'}: {point['ours'][-1]}")
            baseline.append(patient_by_patient(data[copies], folder / "listfiles"))
            say(f"copies, run {run} of {runs}, baseline: {baseline[-1]}")
    return {
        "data": name,
        **points[copies],
        "baseline": baseline,
        **RECORDED.get((name, copies), {}),
        "start_up": points[0],
        "growth": [points[size] for size in sorted(points) if size],
    }


def memory(synthetic_events: int = 30_000_000, memory_limit: str = "2GB") -> dict[str, Any]:
    """Much synthetic data with little memory, once."""
    patients = max(20, round(synthetic_events / EVENTS_PER_STAY / STAYS_PER_PATIENT))
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        data = Path(temporary) / "synthetic"
        synth = synthesize("mimic3", data, patients, EVENTS_PER_STAY)
        rows = synthetic_rows(data)
        say(f"memory: {rows['chartevents']:,} chart events of {patients:,} patients in {synth}")
        limit = {"MEDEVAL_MEMORY_LIMIT": memory_limit}
        workplace = Workplace(Path(temporary) / "memory", "mimic3", limit)
        build = workplace.build(MEDEVAL_MIMIC3_DIR=data)
        say(f"memory: build {build}")
        export = workplace.export()
        say(f"memory: export {export}")
    return {
        "events": sum(rows[table] for table in EVENTS),
        "patients": patients,
        "chart_events": rows["chartevents"],
        "memory_limit": memory_limit,
        "synth": synth,
        "build": build,
        "export": export,
    }


def postgresql(
    mimic3_demo: str = str(SHARED / "data" / "mimic3_demo"), copies: int = 10, cache: str = ""
) -> dict[str, Any]:
    """The copies loaded into a server of our own and built there, once."""
    name, source = small(mimic3_demo)
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary, postgres() as server:
        folder = Path(temporary)
        data = copied(name, source, cache or folder / "data", copies)
        workplace = Workplace(folder / "postgres", "mimic3", server[0])
        load = workplace.load("mimic3", data)
        build = workplace.build()
        say(f"postgres: load {load}, build {build}")
        workplace.export()
        found = {"data": f"{name}, {copies} times", "events": exported_events(workplace)}
    return {**found, "server": server[1], "load": load, "build": build}


def small(mimic3_demo: str) -> tuple[str, Path]:
    """Return the name and the folder of the small data set."""
    place = Path(mimic3_demo).resolve()
    return (REAL, place) if place.is_dir() else ("demo/mimic3 (synthetic)", DEMO)


def copied(name: str, source: Path, cache: str | Path, copies: int) -> Path:
    """Return a folder with copies of the small data set; they are made unless they are there."""
    target = Path(cache).resolve() / f"{'real' if name == REAL else 'synthetic'}_x{copies}"
    if not target.is_dir():
        say(f"making {copies} copies")
        function("benchmarks.copies:make", source, target, copies)
    return target


def exported_events(workplace: Workplace) -> int:
    """Return the event rows of the source, as the last export's manifest has them."""
    tables = workplace.read("manifest.json")["source"]["tables"]
    return sum(int(tables[table]["rows"]) for table in EVENTS)


def patient_by_patient(source: Path, out: Path) -> Usage:
    """Run the baseline: files to listfiles."""
    shutil.rmtree(out, ignore_errors=True)
    return measure([sys.executable, ORACLES / "patient_by_patient.py", source, out])


def defaults() -> dict[str, str]:
    """Return the settings of profiles.yml with their defaults."""
    text = (ROOT / "profiles.yml").read_text(encoding="utf-8")
    return dict(re.findall(r"env_var\('(\w+)', '([^']*)'\)", text))


BENCHMARK = Benchmark(
    "mimic3",
    "listfiles",
    {"demo": demo, "copies": copies, "memory": memory, "postgres": postgresql},
    lambda part: ("medeval", "dbt-core", "dbt-duckdb", "duckdb", "pandas"),
    usual=("demo", "copies", "memory"),
    constants={"defaults": defaults()},
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
