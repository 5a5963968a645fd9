"""Speed and memory of the CDM cases, beside a loop over admissions in the same call.

python -m benchmarks.bench_cdm                               # both engines, and the page
python -m benchmarks.bench_cdm --only duckdb --runs 5        # one; the other is kept
python -m benchmarks.bench_cdm --render                      # the page, nothing is measured
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.cdm_extracts import COHORT
from benchmarks.measuring import ORACLES, CommandFailedError, Usage, Word, function, measure
from benchmarks.pages import Benchmark, Ratio, say, typical
from benchmarks.warehouses import Workplace, new_database, postgres, synthesize, synthetic_rows

# Transactions, settings of a connection, and further batches of rows of a query.
LOGGED = re.compile(r"LOG:  (?:statement|execute \S+):(?:/\*[^*]*\*/|--[^\n]*\n|\s)*(\w+)")
UNCOUNTED = {"begin", "commit", "rollback", "set", "show", "fetch", "close"}
LEAST = 20  # the fewest admissions that `synth` makes
# Parts of the full size, which is ten times the first; `start-up` is the least there can be.
SIZES = {"1x": 0.1, "2x": 0.2, "4x": 0.4, "10x": 1.0}
NAMES = {"duckdb": "DuckDB", "postgres": "PostgreSQL"}
START_UP, FULL = "start-up", "10x"
COUNTED = ("4x", "10x")
EXPORT, BETWEEN = "export", "dbt, between the models"
# practical_cdm_benchmark itself at commit 7e49f9b, measured once: PostgreSQL 15, 2 cores, 2,400
# cases; wall seconds.
RECORDED = {
    "as it sets its tables up, without indexes": 410.0,
    "indexes added by hand": 73.5,
}


def on_duckdb(
    runs: int = 3, scale: int = 2730, labs: int = 420, baseline: int = 260, cache: str = ""
) -> dict[str, Any]:
    """From files to cases at every size in turn, then the baseline."""
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        folder = Path(temporary)
        sizes = make_sources(cache or folder / "data", scale, labs)
        workplace = Workplace(folder / "ours", "cdm")
        for run in range(1, runs + 1):
            for name, (source, size) in sizes.items():
                size["ours"].append(workplace.build_and_export(**of(source)))
                size["cases"] = workplace.read("manifest.json")["tasks"]["cdm"]["cases"]
                say(f"duckdb, {name}, run {run} of {runs}: {size['ours'][-1]}")
        source, extracts = with_extracts(folder, workplace, sizes[FULL][0])
        by_reference = Workplace(folder / "reference", "cdm", variables=reference(extracts))
        usage = by_reference.build_and_export(**of(source), MEDEVAL_CDM_EXTRACT_DIR=extracts)
        loops = run_loops(source, by_reference, baseline, None)
        before = profile(workplace, **of(sizes[START_UP][0]))
        after = profile(by_reference, **of(source), MEDEVAL_CDM_EXTRACT_DIR=extracts)
        return {
            "sizes": {name: size for name, (_, size) in sizes.items()},
            "cohort": len((extracts / COHORT).read_text(encoding="utf-8").split()),
            "by_reference": usage,
            "loops": loops,
            "beyond": beyond(before, after),
            "steps": by_reference.pass_steps(),
        }


def on_postgres(
    runs: int = 3, scale: int = 2730, labs: int = 420, baseline: int = 260, cache: str = ""
) -> dict[str, Any]:
    """From loaded tables to cases at every size in turn, then the baseline."""
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        folder = Path(temporary)
        sizes = make_sources(cache or folder / "data", scale, labs)
        # The same cohort and sections as on DuckDB, where they are read from a file.
        derived = Workplace(folder / "derived", "cdm")
        derived.build(**of(sizes[FULL][0]))
        source, extracts = with_extracts(folder, derived, sizes[FULL][0])
        with postgres() as (server, server_version):
            workplaces = {}
            for name, (data, size) in sizes.items():
                address = new_database(server, name)
                workplaces[name] = Workplace(folder / name, "cdm", address)
                size["load"] = workplaces[name].load("mimic4", data)
            for run in range(1, runs + 1):
                for name, (_, size) in sizes.items():
                    size["ours"].append(build_in_server(workplaces[name]))
                    say(f"postgres, {name}, run {run} of {runs}: {size['ours'][-1]}")
            for name, (_, size) in sizes.items():
                size["cases"] = workplaces[name].read("manifest.json")["tasks"]["cdm"]["cases"]
                if name in COUNTED:
                    size["statements"] = count_statements(workplaces[name])
            address = new_database(server, "reference")
            place = folder / "reference"
            by_reference = Workplace(place, "cdm", address, variables=reference(extracts))
            by_reference.load("mimic4", source, "--cohort-file", extracts / COHORT)
            usage = build_in_server(by_reference)
            loops = run_loops(source, by_reference, baseline, address)
            return {
                "server": server_version,
                "sizes": {name: size for name, (_, size) in sizes.items()},
                "cohort": len((extracts / COHORT).read_text(encoding="utf-8").split()),
                "by_reference": usage,
                "loops": loops,
                "beyond": beyond(profile(workplaces[START_UP]), profile(by_reference)),
            }


def make_sources(
    cache: str | Path, scale: int, labs: int
) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Return the data of each size, made unless they are kept, and how large they are."""
    found = {}
    for name, admissions in {START_UP: LEAST, **scales(scale)}.items():
        source = Path(cache).resolve() / f"mimic4_{admissions}_{labs}"
        source.parent.mkdir(parents=True, exist_ok=True)
        synthesize("mimic4", source, admissions, labs)
        rows = synthetic_rows(source)
        counts = {"admissions": rows["hosp/admissions"], "labs": rows["hosp/labevents"]}
        found[name] = source, {"cases": 0, **counts, "ours": []}
    return found


def scales(full: int) -> dict[str, int]:
    """Return the scale of each size."""
    return {name: round(full * part) for name, part in SIZES.items()}


def of(source: Path) -> dict[str, Path]:
    """Return the variables that name a source."""
    return {"MEDEVAL_MIMIC4_DIR": source, "MEDEVAL_MIMIC4_NOTE_DIR": source}


def with_extracts(folder: Path, built: Workplace, source: Path) -> tuple[Path, Path]:
    """Write the extracts of a warehouse; return a folder with links to them and to its source."""
    extracts, linked = folder / "extracts", folder / "source"
    function("benchmarks.cdm_extracts:write_extracts", built.warehouse, extracts)
    linked.mkdir()
    for module in ("hosp", "note"):
        (linked / module).symlink_to(source / module)
    (linked / "note_extract").symlink_to(extracts)
    return linked, extracts


def reference(extracts: Path) -> dict[str, str]:
    """Return the variables under which both ways must give the same cases."""
    rules = {"cdm_rules": "reference", "cdm_extract_source": "provided"}
    return {**rules, "cdm_cohort_file": str(extracts / COHORT)}


def build_in_server(workplace: Workplace) -> Usage:
    """Build and export, and add what the server's processes used meanwhile to the CPU seconds."""
    import psutil

    pid_file = Path(workplace.settings["PGHOST"]) / "postmaster.pid"
    server = psutil.Process(int(pid_file.read_text(encoding="utf-8").split("\n", 1)[0]))
    before = server.cpu_times()
    usage = workplace.build_and_export()
    after = server.cpu_times()
    user = usage.user_s + after.children_user - before.children_user
    system = usage.system_s + after.children_system - before.children_system
    return dataclasses.replace(usage, user_s=user, system_s=system)


def profile(workplace: Workplace, **sources: Path) -> dict[str, float]:
    """Build once more, a model at a time, and export; return the wall seconds of each step."""
    built = workplace.build("--threads", 1, **sources)
    seconds = workplace.model_seconds()
    rest = built.wall_s - sum(seconds.values())
    return {**seconds, BETWEEN: rest, EXPORT: workplace.export().wall_s}


def beyond(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return what each step takes beyond another build, the longest first."""
    more = {step: seconds - before.get(step, 0.0) for step, seconds in after.items()}
    return dict(sorted(more.items(), key=lambda item: -item[1]))


def run_loops(
    source: Path, ours: Workplace, first: int, address: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    """Run the baseline without and with indexes, and compare its cases with ours.

    Raises:
        CommandFailedError: a case differs.
    """
    cases = {case["hadm_id"]: case for case in ours.read("benchmark.json")["cases"]}
    out, times = ours.folder / "cases.json", ours.folder / "times.json"
    loops = []
    for with_indexes in (False, True):
        module = [sys.executable, "-m", "oracles.admission_by_admission"]
        words: list[Word] = [source, source / "note_extract" / COHORT, out, "--mode", "extended"]
        words += ["--first", first, "--times", times]
        words += ["--indexes"] * with_indexes + ["--postgres"] * bool(address)
        usage = measure([*module, *words], {"PYTHONPATH": str(ORACLES.parent), **(address or {})})
        loop = {**json.loads(times.read_text(encoding="utf-8")), "peak_mb": usage.peak_mb}
        theirs = json.loads(out.read_text(encoding="utf-8"))["cases"]
        different = [case["hadm_id"] for case in theirs if cases.get(case["hadm_id"]) != case]
        if different:
            raise CommandFailedError(f"Both ways differ in {len(different)} cases: {different[:5]}")
        say(f"baseline, indexes: {with_indexes}, {loop}, {len(theirs)} equal cases")
        loops.append({"with_indexes": with_indexes, **loop})
    return loops


def count_statements(workplace: Workplace) -> int:
    """Build and export once more, not timed, and count what the server logs."""
    log = Path(workplace.settings["PGHOST"]) / "log"
    start = log.stat().st_size
    workplace.settings["PGOPTIONS"] = "-c log_statement=all"
    workplace.build_and_export()
    del workplace.settings["PGOPTIONS"]
    text = log.read_bytes()[start:].decode("utf-8", "replace")
    return sum(word.lower() not in UNCOUNTED for word in LOGGED.findall(text))


def rows(engine: str, part: dict[str, Any]) -> Iterator[Ratio]:
    """Return the rows of the table of all benchmarks."""
    growth = [typical(part["sizes"][size]["ours"]) for size in SIZES]
    ours = part["by_reference"]["wall_s"] - typical(part["sizes"][START_UP]["ours"], "wall_s")
    loop = part["loops"][0]
    each = loop["loop_s"] / loop["admissions"]
    # What the server holds is not measured.
    our_mb = 0.0 if "server" in part else part["by_reference"]["peak_mb"]
    for beside, seconds, memory in (
        (
            "admission by admission (extrapolated)",
            loop["prepare_s"] + each * part["cohort"],
            loop["peak_mb"],
        ),
        ("practical_cdm_benchmark (recorded)", next(iter(RECORDED.values())), 0.0),
    ):
        what, n = f"CDM on {NAMES[engine]}", f"{part['cohort']:,} cases"
        measured = "wall s beyond start-up"
        yield Ratio(what, beside, n, measured, ours, seconds, our_mb, memory, growth)


BENCHMARK = Benchmark(
    "cdm",
    "cdm",
    {"duckdb": on_duckdb, "postgres": on_postgres},
    lambda part: (
        *("medeval", "dbt-core", f"dbt-{part}"),
        "duckdb" if part == "duckdb" else "psycopg",
    ),
    under="engines",
    constants={"recorded": RECORDED},
    rows=rows,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
