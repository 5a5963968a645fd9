"""Speed and memory of the MIMIC-III listfiles, beside a baseline measured in the same call.

python -m benchmarks.mimic3                          # demo and copies
python -m benchmarks.mimic3 --only demo --runs 5     # one part; the others are kept
python -m benchmarks.mimic3 --render                 # the page, nothing is measured
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.copies import EVENTS
from benchmarks.measuring import ORACLES, ROOT, Usage, function, measure
from benchmarks.pages import Benchmark, Ratio, largest, say, typical
from benchmarks.warehouses import Workplace, postgres

SHARED = Path(os.environ.get("MEDEVAL_SHARED") or ROOT.parent / "shared")
REAL = "MIMIC-III demo 1.4"
DEMO = ROOT / "demo" / "mimic3"
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
    growth: tuple[int, ...] = (2, 4),
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
        workplace.build(MEDEVAL_MIMIC3_DIR=data[copies])
        found = workplace.pass_steps()
    return {
        "data": name,
        **points[copies],
        "baseline": baseline,
        "steps": found,
        **RECORDED.get((name, copies), {}),
        "start_up": points[0],
        "growth": [points[size] for size in sorted(points) if size],
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


def rows(name: str, part: dict[str, Any]) -> Iterator[Ratio]:
    """Return the rows of the table of all benchmarks."""
    if name != "copies":
        return
    growth = [typical(size["ours"]) for size in part["growth"] if size["copies"] in (1, 2, 4, 10)]
    ours = (typical(part["ours"]), largest(part["ours"]))
    n = f"{part['events']:,} events"
    theirs = (typical(part["baseline"]), largest(part["baseline"]))
    for beside, (seconds, memory) in (
        ("patient by patient, pandas", theirs),
        ("mimic3-benchmarks (recorded)", (part.get("recorded", {}).get("user_s", 0.0), 0.0)),
    ):
        if seconds:
            yield Ratio(
                "listfiles", beside, n, "user CPU s", ours[0], seconds, ours[1], memory, growth
            )


BENCHMARK = Benchmark(
    "mimic3",
    "listfiles",
    {"demo": demo, "copies": copies, "postgres": postgresql},
    lambda part: ("medeval", "dbt-core", "dbt-duckdb", "duckdb", "pandas"),
    usual=("demo", "copies"),
    constants={"defaults": defaults()},
    rows=rows,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
