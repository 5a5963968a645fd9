"""The CDM floor: the benchmark as one JSON document and as a case a line, and its tests by name."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from medeval.errors import UserError
from medeval.exporting.builds import newest_build
from medeval.exporting.cdm_json import (
    HEAD,
    LAYOUTS,
    REFERENCE,
    TAIL,
    CaseParts,
    case_text,
    one_line,
    provenance_line,
)
from medeval.exporting.cdm_lab_tests import LAB_TESTS, write_lab_tests
from medeval.exporting.cdm_rows import (
    CASES,
    SCHEMA,
    TABLES,
    Mode,
    Settings,
    read_cases,
    read_issues,
    read_settings,
)
from medeval.exporting.files import MANIFEST, ExportFolder
from medeval.exporting.floor import Floor, Request
from medeval.exporting.manifest import make_manifest
from medeval.exporting.progress import Advance, progress
from medeval.warehouse import Warehouse, schema_name

NAME = "cdm"
BENCHMARK = "benchmark.json"
LINES = "benchmark.jsonl"
PROVENANCE = "cases_provenance.jsonl"
PATHOLOGIES = ("appendicitis", "cholecystitis", "diverticulitis", "pancreatitis")
NO_PATHOLOGY = "none"


@dataclass(frozen=True)
class CaseChoice:
    """Which cases, and which of their results.

    Attributes:
        mode: the first result of each test, or up to three before the first procedure.
        num_cases: so many from the front of the list; None for all.
    """

    mode: Mode = Mode.EXTENDED
    num_cases: int | None = None


@dataclass
class _Written:
    """What became of the cases."""

    pathologies: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    skipped: dict[int, list[str]] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        return self.pathologies.total()


def is_built(warehouse: Warehouse) -> bool:
    """Tell whether the cases are there; an export then asks for all it needs."""
    return warehouse.relation_exists(schema_name(SCHEMA), CASES)


def export(warehouse: Warehouse, request: Request, choice: CaseChoice | None = None) -> list[str]:
    """Write exports/cdm: the benchmark in both forms and the manifest, or nothing.

    Under the reference's rules the cases have its names and no others, and a case that it loses is
    left out; what it has no place for stands in a file beside it.

    Raises:
        UserError: the tables are not there, their last build failed, or no case is left.
    """
    choice = choice or CaseChoice()
    build = newest_build(warehouse, NAME, [*TABLES, LAB_TESTS, f"{NAME}_data_class"])
    settings = read_settings(warehouse)
    listed = warehouse.count(schema_name(SCHEMA), CASES)
    last = _last_place(choice, listed)
    issues = read_issues(warehouse, choice.mode, last)
    with ExportFolder(request.out / NAME) as folder:
        with progress(NAME, lambda: last) as advance:
            written = _write(warehouse, folder, settings, choice.mode, last, issues, advance)
        if not written.cases:
            raise UserError(_no_case(listed, written))
        write_lab_tests(warehouse, folder, NAME)
        manifest = make_manifest(warehouse, NAME, build, folder, {NAME: None}, "patients_md5")
        manifest["tasks"][NAME] = _described(choice, settings, listed, last, issues, written)
        folder.publish(manifest)
    if choice.num_cases is None:
        _warn_of_absent_pathologies(written)
    return [
        f"{folder.folder / BENCHMARK}: {written.cases:,} cases ({_counts(written.pathologies)}),"
        f" {settings.rules} rules, {choice.mode}",
        *_skipped_lines(written),
        f"{folder.folder / MANIFEST}: data class {manifest['data_class']}",
    ]


def _last_place(choice: CaseChoice, listed: int) -> int:
    if choice.num_cases is None:
        return listed
    if choice.num_cases > listed:
        _warn(f"--num-cases {choice.num_cases}, but the list has {listed} admissions: all of them")
    return min(choice.num_cases, listed)


def _write(
    warehouse: Warehouse,
    folder: ExportFolder,
    settings: Settings,
    mode: Mode,
    last: int,
    issues: dict[int, list[str]],
    advance: Advance,
) -> _Written:
    if settings.rules not in LAYOUTS:
        raise UserError(f"The tables of {NAME} were built by unknown rules {settings.rules!r}.")
    layout = LAYOUTS[settings.rules]
    loses_cases = settings.rules == REFERENCE
    written = _Written()
    with ExitStack() as stack:
        benchmark = stack.enter_context(folder.create(BENCHMARK, NAME))
        lines = stack.enter_context(folder.create(LINES, NAME))
        beside = stack.enter_context(folder.create(PROVENANCE, NAME)) if loses_cases else None
        benchmark.write(HEAD.encode(), 0)
        for case in read_cases(warehouse, settings, mode, last):
            advance(1)
            if loses_cases and case.hadm_id in issues:
                written.skipped[case.hadm_id] = issues[case.hadm_id]
                continue
            text = case_text(case, layout)
            between = ",\n" if written.cases else ""
            benchmark.write((between + text).encode(), 1)
            lines.write(one_line(text).encode(), 1)
            if beside is not None:
                beside.write(provenance_line(case).encode(), 1)
            _count(written, case)
        benchmark.write(TAIL.encode(), 0)
    return written


def _count(written: _Written, case: CaseParts) -> None:
    written.pathologies[case.pathology or NO_PATHOLOGY] += 1
    written.results["lab_results"] += len(case.labs)
    written.results["microbiology_events"] += len(case.cultures)
    written.results["radiology_reports"] += len(case.reports)


def _described(
    choice: CaseChoice,
    settings: Settings,
    listed: int,
    last: int,
    issues: dict[int, list[str]],
    written: _Written,
) -> dict[str, Any]:
    """Return what the manifest says of the cases."""
    return {
        **asdict(settings),
        "mode": str(choice.mode),
        "num_cases": choice.num_cases,
        "listed": listed,
        "read": last,
        "cases": written.cases,
        "pathologies": {name: written.pathologies[name] for name in (*PATHOLOGIES, NO_PATHOLOGY)},
        "results": dict(written.results),
        "issues": _issue_counts(issues),
        "skipped": [
            {"hadm_id": hadm_id, "issues": reasons} for hadm_id, reasons in written.skipped.items()
        ],
    }


def _issue_counts(issues: dict[int, list[str]]) -> dict[str, int]:
    return dict(sorted(Counter(issue for found in issues.values() for issue in found).items()))


def _skipped_lines(written: _Written) -> list[str]:
    if not written.skipped:
        return []
    return [
        f"{len(written.skipped):,} cases that the reference loses are left out"
        f" ({_counts(Counter(_issue_counts(written.skipped)))}); the manifest names them"
    ]


def _no_case(listed: int, written: _Written) -> str:
    if not listed:
        return (
            "The benchmark has no case: no admission is in the cohort. cdm_attrition shows where"
            " they were lost."
        )
    reasons = _counts(Counter(_issue_counts(written.skipped)))
    return f"No case is left: the reference loses all {len(written.skipped)} ({reasons})."


def _warn_of_absent_pathologies(written: _Written) -> None:
    absent = [name for name in PATHOLOGIES if not written.pathologies[name]]
    if absent:
        _warn(f"no case of {', '.join(absent)} in the cohort")


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counter.items()))


def _warn(sentence: str) -> None:
    print(f"medeval: {sentence}", file=sys.stderr)


FLOOR = Floor(NAME, (NAME,), {}, is_built, export)
