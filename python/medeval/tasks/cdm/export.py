"""The benchmark as one JSON document and as a case a line, and its tests by name.

The published tables are read case by case: one ordered stream a table, a batch at a time, so that
the number of statements does not depend on the number of cases, and memory holds one case.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Annotated, Any

import typer

from medeval.builds import newest_build
from medeval.data_class import strictest
from medeval.errors import UserError
from medeval.export import MANIFEST, BenchmarkExport, ExportFolder, Request, make_manifest
from medeval.progress import Advance, progress
from medeval.tasks.cdm import case_json
from medeval.tasks.cdm.case_json import CULTURE, REPORT, TREATMENT, Case, named
from medeval.warehouse import Row, Warehouse, flat, schema_name

NAME = "cdm"
BENCHMARK = "benchmark.json"
LINES = "benchmark.jsonl"
PROVENANCE = "cases_provenance.jsonl"
PATHOLOGIES = ("appendicitis", "cholecystitis", "diverticulitis", "pancreatitis")
NO_PATHOLOGY = "none"
REFERENCE = "reference"
# What the rule sets call the history and the physical exam.
TEXT_NAMES = {
    "specification": ("history_of_present_illness", "physical_exams"),
    REFERENCE: ("patient_history", "physical_exam_text"),
}
CASES = "cdm_cases"
ISSUES = "cdm_case_issues"
SETTINGS = "cdm_build_settings"
LAB_TESTS = "cdm_lab_test_mapping"
LAB_TEST_MAPPING = "lab_test_mapping.json"


class Mode(StrEnum):
    """Which results of a test a case shows."""

    FIRST_ONLY = "first_only"
    EXTENDED = "extended"


@dataclass(frozen=True)
class Options:
    """Which cases, and which of their results."""

    num_cases: Annotated[
        int | None, typer.Option(help="cdm: only so many cases, from the front of the list.")
    ] = None
    first_only: Annotated[
        bool, typer.Option("--first-only", help="cdm: the first result of each test, at any time.")
    ] = False
    extended: Annotated[
        bool,
        typer.Option(
            "--extended",
            help="cdm: up to three results of each test, all before the day of the first procedure"
            " (the default).",
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.num_cases is not None and self.num_cases < 1:
            raise UserError(f"--num-cases is {self.num_cases}; it can be 1 or more.")
        if self.first_only and self.extended:
            raise UserError("--first-only and --extended exclude each other.")

    @property
    def mode(self) -> Mode:
        """The first result of each test, or up to three before the first procedure."""
        return Mode.FIRST_ONLY if self.first_only else Mode.EXTENDED


def export(warehouse: Warehouse, request: Request) -> list[str]:
    """Write exports/cdm: the benchmark in both forms and the manifest, or nothing.

    Under the reference's rules the cases have its names and no others, and a case that it loses is
    left out; what it has no place for stands in a file beside it.

    Raises:
        UserError: the tables are not there, their last build failed, or no case is left.
    """
    choice: Options = request.options
    build = newest_build(warehouse, NAME, [*TABLES, LAB_TESTS, f"{NAME}_data_class"])
    settings = read_settings(warehouse)
    listed = warehouse.count(schema_name(NAME), CASES)
    last = listed if choice.num_cases is None else min(choice.num_cases, listed)
    if choice.num_cases is not None and choice.num_cases > listed:
        print(
            f"medeval: --num-cases {choice.num_cases}, but the list has {listed} admissions: all of"
            " them",
            file=sys.stderr,
        )
    issues = read_issues(warehouse, choice.mode, last)
    lost = {} if settings["rules"] != REFERENCE else issues
    with ExportFolder(request.out / NAME) as folder:
        with progress(NAME, lambda: last) as advance:
            cases = read_cases(warehouse, settings["rules"], choice.mode, last)
            pathologies, results, skipped = _write(folder, cases, settings["rules"], lost, advance)
        n_cases, reasons = pathologies.total(), _counts(_issue_counts(skipped))
        if not listed:
            raise UserError(
                "The benchmark has no case: no admission is in the cohort. cdm_attrition shows"
                " where they were lost."
            )
        if not n_cases:
            raise UserError(f"No case is left: the reference loses all {len(skipped)} ({reasons}).")
        _write_lab_tests(warehouse, folder)
        manifest = make_manifest(warehouse, NAME, build, folder, {NAME: None}, "patients_md5")
        manifest["tasks"][NAME] = {
            **settings,
            "mode": str(choice.mode),
            "num_cases": choice.num_cases,
            "listed": listed,
            "read": last,
            "cases": n_cases,
            "pathologies": {name: pathologies[name] for name in (*PATHOLOGIES, NO_PATHOLOGY)},
            "results": dict(results),
            "issues": _issue_counts(issues),
            "skipped": [{"hadm_id": key, "issues": found} for key, found in skipped.items()],
        }
        folder.publish(manifest)
    absent = [name for name in PATHOLOGIES if not pathologies[name]]
    if absent and choice.num_cases is None:
        print(f"medeval: no case of {', '.join(absent)} in the cohort", file=sys.stderr)
    left_out = (
        f"{len(skipped):,} cases that the reference loses are left out ({reasons}); the manifest"
        " names them"
    )
    return [
        f"{folder.folder / BENCHMARK}: {n_cases:,} cases ({_counts(pathologies)}),"
        f" {settings['rules']} rules, {choice.mode}",
        *([left_out] if skipped else []),
        f"{folder.folder / MANIFEST}: data class {manifest['data_class']}",
    ]


def _write(
    folder: ExportFolder,
    cases: Iterable[tuple[Case, Case]],
    rules: str,
    lost: Mapping[int, list[str]],
    advance: Advance,
) -> tuple[Counter[str], Counter[str], dict[int, list[str]]]:
    """Write the cases that are not lost.

    Returns:
        How many there are of each pathology, results of each kind, and issues of those left out.
    """
    pathologies: Counter[str] = Counter()
    results: Counter[str] = Counter()
    skipped: dict[int, list[str]] = {}
    is_reference = rules == REFERENCE
    with ExitStack() as stack:
        benchmark = stack.enter_context(folder.create(BENCHMARK, NAME))
        lines = stack.enter_context(folder.create(LINES, NAME))
        beside = stack.enter_context(folder.create(PROVENANCE, NAME)) if is_reference else None
        benchmark.write(case_json.HEAD.encode(), 0)
        for case, about in cases:
            advance(1)
            hadm_id = case["hadm_id"]
            if hadm_id in lost:
                skipped[hadm_id] = lost[hadm_id]
                continue
            text = "    " + case_json.indented(case if is_reference else case | about, 4)
            between = ",\n" if pathologies else ""
            benchmark.write((between + text).encode(), 1)
            lines.write(case_json.one_line(text).encode(), 1)
            if beside is not None:
                line = json.dumps({"hadm_id": hadm_id, **about}, ensure_ascii=False)
                beside.write(f"{line}\n".encode(), 1)
            pathologies[case["pathology"] or NO_PATHOLOGY] += 1
            for kind in ("lab_results", "microbiology_events", "radiology_reports"):
                results[kind] += len(case[kind])
        benchmark.write(case_json.TAIL.encode(), 0)
    return pathologies, results, skipped


def _issue_counts(issues: Mapping[int, Sequence[str]]) -> dict[str, int]:
    return dict(sorted(Counter(issue for found in issues.values() for issue in found).items()))


def _counts(counter: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counter.items()))


def _write_lab_tests(warehouse: Warehouse, folder: ExportFolder) -> None:
    """Write the tests as a JSON array, in the order of their ids and names.

    A name in a request becomes items by it. The layout is that of the ancestor's
    `lab_test_mapping.json`, a test a line.
    """
    columns = ["itemid", "label", "fluid", "category", "result_count", "corresponding_ids"]
    order = 'order by itemid, label collate "C"'
    before = "["
    with folder.create(LAB_TEST_MAPPING, NAME) as file:
        for row in chain.from_iterable(
            warehouse.select(columns, schema_name(NAME), LAB_TESTS, order)
        ):
            test = named("itemid, label, fluid, category, count, corresponding_ids", row)
            test["corresponding_ids"] = [int(one) for one in test["corresponding_ids"].split(",")]
            file.write(f"{before}\n{json.dumps(test, ensure_ascii=False)}".encode(), 1)
            before = ","
        file.write(b"\n]\n" if before == "," else b"[]\n", 0)


# The rows of a case


# Of each published table that a case is made of: the tables of all events and of the first ones,
# the columns that a case needs, and their order within a case.
_PARTS = (
    (
        ("cdm_lab_results", "cdm_first_lab_results"),
        "itemid, test_name, fluid, category, valuenum, value_text, value_origin, unit, flag,"
        " ref_range_lower, ref_range_upper, charttime, sequence_num",
        "r.charttime nulls last, r.itemid, r.sequence_num, r.labevent_id",
    ),
    (
        ("cdm_microbiology_events", "cdm_first_microbiology_events"),
        CULTURE,
        "r.charttime nulls last, r.test_itemid nulls last, r.sequence_num,"
        ' r.spec_type_desc collate "C" nulls last, r.test_name collate "C" nulls last',
    ),
    (
        ("cdm_radiology_reports", "cdm_first_radiology_reports"),
        REPORT,
        'r.note_id collate "C", r.sequence_num',
    ),
    (("cdm_diagnoses", "cdm_diagnoses"), "title, is_primary", "r.seq_num"),
    (("cdm_treatments", "cdm_treatments"), TREATMENT, "r.position"),
)
_CASE = (
    "list_position, hadm_id, pathology, has_demographics, age, gender, age_at_admission,"
    " history_of_present_illness, physical_exams, data_class, extract_source"
)
TABLES = (CASES, ISSUES, SETTINGS, *sorted({table for tables, *_ in _PARTS for table in tables}))


def read_settings(warehouse: Warehouse) -> dict[str, Any]:
    """Return what the build of the tables was told.

    Raises:
        UserError: the table does not have its one row, or has rules that there are not.
    """
    columns = "rules, extract_source, cohort_source, cohort_file"
    found = flat(warehouse.select([columns], schema_name(NAME), SETTINGS))
    if len(found) != 1:
        raise UserError(f"{SETTINGS} has {len(found)} rows, not one. Run `dbt build --select cdm`.")
    settings = named(columns, found[0])
    if settings["rules"] not in TEXT_NAMES:
        rules = settings["rules"]
        raise UserError(f"The tables of {NAME} were built by unknown rules {rules!r}.")
    return settings


def read_issues(warehouse: Warehouse, mode: Mode, last: int) -> dict[int, list[str]]:
    """Return what is wrong with the cases up to a place of the list, in the mode of the export."""
    cases = warehouse.relation(schema_name(NAME), CASES)
    issues: dict[int, list[str]] = {}
    for hadm_id, issue in flat(
        warehouse.select(
            ["c.hadm_id", "r.issue"],
            schema_name(NAME),
            ISSUES,
            f"as r inner join {cases} as c on r.hadm_id = c.hadm_id"
            f" where r.in_{mode} and c.list_position <= $1"
            ' order by c.list_position, r.issue collate "C"',
            (last,),
        )
    ):
        issues.setdefault(hadm_id, []).append(issue)
    return issues


def read_cases(
    warehouse: Warehouse, rules: str, mode: Mode, last: int
) -> Iterator[tuple[Case, Case]]:
    """Yield the cases up to a place of the list, in its order, and what each says of itself.

    The reference's case has exactly its own names; the specification's has its own names for
    history and exam, the age at admission, unit and flag of a laboratory result, and says of
    itself what it is.
    """
    history_name, exam_name = TEXT_NAMES[rules]
    is_extended = rules != REFERENCE
    labs, cultures, reports, diagnoses, treatments = (
        _PerCase(warehouse, tables[mode is Mode.FIRST_ONLY], columns, order)
        for tables, columns, order in _PARTS
    )
    batches = warehouse.select([_CASE], schema_name(NAME), CASES, "order by list_position")
    for each in islice(chain.from_iterable(batches), last):
        row = named(_CASE, each)
        position = row["list_position"]
        person = {"age": row["age"], "gender": row["gender"]}
        if is_extended:
            person["age_at_admission"] = row["age_at_admission"]
        case = {
            "hadm_id": row["hadm_id"],
            "pathology": row["pathology"],
            "demographics": person if row["has_demographics"] else None,
            history_name: row["history_of_present_illness"] or "",
            "lab_results": [case_json.lab_result(each, is_extended) for each in labs.of(position)],
            "microbiology_events": [
                case_json.timed(CULTURE, each) for each in cultures.of(position)
            ],
            "radiology_reports": [case_json.timed(REPORT, each) for each in reports.of(position)],
            exam_name: row["physical_exams"] or "",
            "ground_truth": {
                "primary_diagnosis": [
                    title for title, is_primary in diagnoses.of(position) if is_primary
                ],
                "treatments": [named(TREATMENT, each) for each in treatments.of(position)],
            },
        }
        origin = {"rules": rules, "mode": str(mode)}
        origin["extract_source"] = row["extract_source"]
        yield case, {"data_class": strictest([row["data_class"]]), "provenance": origin}


class _PerCase:
    """Rows of a table that are given out case by case."""

    def __init__(self, warehouse: Warehouse, table: str, columns: str, order: str) -> None:
        cases = warehouse.relation(schema_name(NAME), CASES)
        batches = warehouse.select(
            ["c.list_position", *(f"r.{column}" for column in columns.split(", "))],
            schema_name(NAME),
            table,
            f"as r inner join {cases} as c on r.hadm_id = c.hadm_id"
            f" order by c.list_position, {order}",
        )
        self._groups = groupby(chain.from_iterable(batches), key=itemgetter(0))
        self._waiting: tuple[int, list[Row]] | None = None

    def of(self, position: int) -> Sequence[Row]:
        """Return the rows of a case, without their place; places are asked for in their order."""
        while self._waiting is None or self._waiting[0] < position:
            found = next(self._groups, None)
            if found is None:
                return ()
            self._waiting = found[0], [row[1:] for row in found[1]]
        return self._waiting[1] if self._waiting[0] == position else ()


EXPORT = BenchmarkExport(NAME, (NAME,), {}, (CASES,), export, Options)
