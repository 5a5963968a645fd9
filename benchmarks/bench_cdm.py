"""Speed and memory of the CDM cases, beside a loop over admissions in the same call.

python -m benchmarks.bench_cdm                              # both engines
python -m benchmarks.bench_cdm --only duckdb --runs 5       # one; the other is kept
python -m benchmarks.bench_cdm --write docs/performance_cdm.md
python -m benchmarks.bench_cdm --render --write docs/performance_cdm.md   # no measuring
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psutil

from benchmarks import postgres
from benchmarks.cdm_commands import (
    CdmWorkplace,
    admission_by_admission,
    new_database,
    source_rows,
    synthesize,
    write_extracts,
)
from benchmarks.cdm_extracts import COHORT
from benchmarks.cdm_results import (
    DUCKDB,
    FULL,
    HALF,
    NAMES,
    PAGE,
    POSTGRES,
    START_UP,
    Loop,
    Measured,
    Results,
    Size,
)
from benchmarks.command_line import Say, carry_out, new_parser
from benchmarks.kept import setting
from benchmarks.processes import CommandFailedError, Usage

# Transactions, settings of a connection, and further batches of rows of a query.
LOGGED = re.compile(r"LOG:  (?:statement|execute \S+):(?:/\*[^*]*\*/|--[^\n]*\n|\s)*(\w+)")
UNCOUNTED = {"begin", "commit", "rollback", "set", "show", "fetch", "close"}
LEAST = 20  # the fewest that `synth` makes
PACKAGES = {DUCKDB: ("medeval", "dbt-core", "dbt-duckdb", "duckdb")}
PACKAGES[POSTGRES] = ("medeval", "dbt-core", "dbt-postgres", "psycopg")

Sources = Mapping[str, Path]


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = new_parser("benchmarks.bench_cdm", __doc__)
    add = parser.add_argument
    add("--only", choices=list(NAMES), help="measure this engine")
    add("--runs", type=int, default=3, help="runs of ours at each size (default: 3)")
    add("--scale", type=int, default=2730, help="admissions of interest of the full size")
    add("--labs", type=int, default=420, help="laboratory rows of an admission")
    add("--baseline", type=int, default=260, help="admissions that the baseline runs on")
    add("--cache", type=Path, help="folder that keeps the data for the next time")
    add("--folder", type=Path, help="where temporary files go")
    arguments = parser.parse_args(words)
    if min(arguments.runs, arguments.baseline) < 1:
        parser.error("runs and admissions are counted from 1")
    if arguments.scale < 4 * LEAST:
        parser.error(f"the least scale is {4 * LEAST}")
    return arguments


def make_sources(cache: Path, scale: int, labs: int, say: Say) -> Sources:
    """Make the data of all sizes, unless they are kept."""
    cache.mkdir(parents=True, exist_ok=True)
    scales = {START_UP: LEAST, HALF: scale // 2, FULL: scale}
    say(f"data of {', '.join(f'{each:,}' for each in scales.values())} admissions of interest")
    return {
        name: synthesize(cache / f"mimic4_{each}_{labs}", each, labs)
        for name, each in scales.items()
    }


def measure_duckdb(sources: Sources, folder: Path, runs: int, first: int, say: Say) -> Measured:
    """Go from files to cases at every size in turn, then the baseline."""
    workplace = CdmWorkplace(folder / "ours")
    ours: dict[str, list[Usage]] = {name: [] for name in sources}
    cases = {}
    for run in range(1, runs + 1):
        for name, source in sources.items():
            ours[name].append(workplace.build_and_export(source))
            cases[name] = len(workplace.cases())
            say(f"duckdb, {name}, run {run} of {runs}: {shown(ours[name][-1])}")
    extracts = write_extracts(workplace.warehouse, folder / "extracts")
    by_reference = CdmWorkplace(folder / "reference", variables=reference(extracts))
    usage = by_reference.build_and_export(sources[FULL], extracts)
    say(f"duckdb, full, the reference's rules: {shown(usage)}")
    source = with_extracts(folder / "source", sources[FULL], extracts)
    loops = run_loops(source, folder, by_reference, first, None, say)
    return Measured(
        setting=setting(PACKAGES[DUCKDB]),
        sizes={name: size(sources[name], cases[name], ours[name]) for name in sources},
        cohort=cohort_size(extracts),
        by_reference=usage,
        loops=loops,
    )


def measure_postgres(sources: Sources, folder: Path, runs: int, first: int, say: Say) -> Measured:
    """Go from loaded tables to cases at every size in turn, then the baseline."""
    # The same cohort and sections as on DuckDB, where they are read from a file.
    derived = CdmWorkplace(folder / "derived")
    derived.build(sources[FULL])
    extracts = write_extracts(derived.warehouse, folder / "extracts")
    full = with_extracts(folder / "source", sources[FULL], extracts)
    with postgres.server() as (server, server_version):
        workplaces, loads = {}, {}
        for name, source in sources.items():
            address = new_database(server, name.replace("-", "_"))
            workplaces[name] = CdmWorkplace(folder / name, address, POSTGRES)
            loads[name] = workplaces[name].load(source)
            say(f"postgres, {name}, load: {shown(loads[name])}")
        ours: dict[str, list[Usage]] = {name: [] for name in sources}
        for run in range(1, runs + 1):
            for name, workplace in workplaces.items():
                ours[name].append(build_in_server(workplace))
                say(f"postgres, {name}, run {run} of {runs}: {shown(ours[name][-1])}")
        cases = {name: len(workplace.cases()) for name, workplace in workplaces.items()}
        statements = {name: count_statements(workplaces[name]) for name in (HALF, FULL)}
        address = new_database(server, "reference")
        by_reference = CdmWorkplace(
            folder / "reference", address, POSTGRES, variables=reference(extracts)
        )
        by_reference.load(full, extracts / COHORT)
        usage = build_in_server(by_reference)
        say(f"postgres, full, the reference's rules: {shown(usage)}")
        loops = run_loops(full, folder, by_reference, first, address, say)
    return Measured(
        setting=setting(PACKAGES[POSTGRES]),
        server=server_version,
        sizes={
            name: size(source, cases[name], ours[name], loads[name], statements.get(name))
            for name, source in sources.items()
        },
        cohort=cohort_size(extracts),
        by_reference=usage,
        loops=loops,
    )


def build_in_server(workplace: CdmWorkplace) -> Usage:
    """Build and export, and add what the server's processes used meanwhile to the CPU seconds."""
    pid_file = Path(str(workplace.settings["PGHOST"])) / "postmaster.pid"
    server = psutil.Process(int(pid_file.read_text(encoding="utf-8").split("\n", 1)[0]))
    before = server.cpu_times()
    usage = workplace.build_and_export(None)
    after = server.cpu_times()
    return usage.model_copy(
        update={
            "user_s": usage.user_s + after.children_user - before.children_user,
            "system_s": usage.system_s + after.children_system - before.children_system,
        }
    )


def reference(extracts: Path) -> dict[str, str]:
    """Return the variables under which both ways must give the same cases."""
    return {
        "cdm_rules": "reference",
        "cdm_cohort_file": str(extracts / COHORT),
        "cdm_extract_source": "provided",
    }


def with_extracts(folder: Path, source: Path, extracts: Path) -> Path:
    """Make a folder that holds a source and extracts, as links."""
    folder.mkdir()
    for module in ("hosp", "note"):
        (folder / module).symlink_to(source / module)
    (folder / "note_extract").symlink_to(extracts)
    return folder


def run_loops(
    source: Path,
    folder: Path,
    ours: CdmWorkplace,
    first: int,
    address: Mapping[str, str] | None,
    say: Say,
) -> list[Loop]:
    """Run the baseline without and with indexes, and compare its cases with ours.

    Raises:
        CommandFailedError: a case differs.
    """
    cohort = source / "note_extract" / COHORT
    cases = {case["hadm_id"]: case for case in ours.cases()}
    loops = []
    for with_indexes in (False, True):
        out = folder / f"loop-{with_indexes}"
        times = admission_by_admission(
            source, cohort, out, first, address, with_indexes=with_indexes
        )
        loop = Loop.model_validate({"with_indexes": with_indexes, **times})
        text = (out / "cases.json").read_text(encoding="utf-8")
        theirs = json.loads(text)["cases"]
        different = [case["hadm_id"] for case in theirs if cases.get(case["hadm_id"]) != case]
        if different:
            raise CommandFailedError(f"Both ways differ in {len(different)} cases: {different[:5]}")
        say(
            f"baseline, {'with' if with_indexes else 'without'} indexes:"
            f" {loop.per_admission * 1000:.1f} ms per admission, {len(theirs)} equal cases"
        )
        loops.append(loop)
    return loops


def count_statements(workplace: CdmWorkplace) -> int:
    """Build and export once more, not timed, and count what the server logs."""
    log = Path(str(workplace.settings["PGHOST"])) / "log"
    start = log.stat().st_size
    workplace.settings["PGOPTIONS"] = "-c log_statement=all"
    workplace.build_and_export(None)
    del workplace.settings["PGOPTIONS"]
    with log.open("rb") as file:
        file.seek(start)
        text = file.read().decode("utf-8", "replace")
    logged = LOGGED.findall(text)
    return sum(word.lower() not in UNCOUNTED for word in logged)


def size(
    source: Path,
    cases: int,
    ours: list[Usage],
    load: Usage | None = None,
    statements: int | None = None,
) -> Size:
    """Describe one size of the data."""
    rows = source_rows(source)
    return Size(
        cases=cases,
        admissions=rows["hosp/admissions"],
        labs=rows["hosp/labevents"],
        ours=ours,
        load=load,
        statements=statements,
    )


def cohort_size(extracts: Path) -> int:
    """Return the number of listed admissions."""
    return len((extracts / COHORT).read_text(encoding="utf-8").split())


def shown(usage: Usage) -> str:
    """Say how long a command took."""
    return f"{usage.wall_s:.1f} s ({usage.user_s:.1f} s user CPU), {usage.peak_mb:,.0f} MB"


def measure_engines(arguments: argparse.Namespace, results: Results, say: Say) -> None:
    """Measure the chosen engines."""
    engines = {DUCKDB: measure_duckdb, POSTGRES: measure_postgres}
    for engine in [arguments.only] if arguments.only else engines:
        with tempfile.TemporaryDirectory(
            prefix="medeval-bench-", dir=arguments.folder
        ) as temporary:
            folder = Path(temporary)
            cache = (arguments.cache or folder / "data").resolve()
            sources = make_sources(cache, arguments.scale, arguments.labs, say)
            measured = engines[engine](sources, folder, arguments.runs, arguments.baseline, say)
        results.keep(engine, measured)


def main() -> int:
    """Run from the command line; 1 when a measured command failed."""
    return carry_out(parse(), Results.read(), measure_engines, PAGE)


if __name__ == "__main__":
    sys.exit(main())
