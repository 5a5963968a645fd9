"""The benchmark as one JSON document and as a case a line, and its tests by name.

The published tables are read case by case: one ordered stream a table, a batch at a time, so that
the number of statements does not depend on the number of cases, and memory holds one case.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Annotated, Any

import typer

from medeval.builds import newest_build
from medeval.errors import UserError
from medeval.export import MANIFEST, BenchmarkExport, ExportFolder, Request, make_manifest
from medeval.terminal import Advance, progress
from medeval.text import strictest
from medeval.warehouse import Row, Warehouse, flat, schema_name

NAME = "cdm"
BENCHMARK, LINES, PROVENANCE = "benchmark.json", "benchmark.jsonl", "cases_provenance.jsonl"
PATHOLOGIES = ("appendicitis", "cholecystitis", "diverticulitis", "pancreatitis")
NO_PATHOLOGY = "none"
REFERENCE = "reference"
# What the rule sets call the history and the physical exam.
TEXT_NAMES = {
    "specification": ("history_of_present_illness", "physical_exams"),
    REFERENCE: ("patient_history", "physical_exam_text"),
}
CASES, ISSUES, SETTINGS = "cdm_cases", "cdm_case_issues", "cdm_build_settings"
LAB_TESTS, LAB_TEST_MAPPING = "cdm_lab_test_mapping", "lab_test_mapping.json"
# Of each published table that a case is made of: the tables of all events and of the first ones,
# the columns that a case needs, and their order within a case.
_PARTS = {
    "lab_results": (
        ("cdm_lab_results", "cdm_first_lab_results"),
        "itemid, test_name, fluid, category, valuenum, value_text, value_origin, unit, flag,"
        " ref_range_lower, ref_range_upper, charttime, sequence_num",
        "r.charttime nulls last, r.itemid, r.sequence_num, r.labevent_id",
    ),
    "microbiology_events": (
        ("cdm_microbiology_events", "cdm_first_microbiology_events"),
        "test_itemid, test_name, spec_type_desc, organism_name, comments, charttime, sequence_num",
        "r.charttime nulls last, r.test_itemid nulls last, r.sequence_num,"
        ' r.spec_type_desc collate "C" nulls last, r.test_name collate "C" nulls last',
    ),
    "radiology_reports": (
        ("cdm_radiology_reports", "cdm_first_radiology_reports"),
        "note_id, exam_name, region, modality, text, charttime, sequence_num",
        'r.note_id collate "C", r.sequence_num',
    ),
    "diagnoses": (("cdm_diagnoses", "cdm_diagnoses"), "title, is_primary", "r.seq_num"),
    "treatments": (("cdm_treatments", "cdm_treatments"), "title, icd_code, is_coded", "r.position"),
}
_EVENTS = tuple(_PARTS)[:3]
_CASE = (
    "list_position, hadm_id, pathology, has_demographics, age, gender, age_at_admission,"
    " history_of_present_illness, physical_exams, data_class, extract_source"
)
TABLES = (
    *(CASES, ISSUES, SETTINGS),
    *sorted({table for tables, *_ in _PARTS.values() for table in tables}),
)
Case = dict[str, Any]


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
    def mode(self) -> str:
        """The first result of each test, or up to three before the first procedure."""
        return "first_only" if self.first_only else "extended"


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
    rules = settings["rules"]
    listed = warehouse.count(schema_name(NAME), CASES)
    last = listed if choice.num_cases is None else min(choice.num_cases, listed)
    if choice.num_cases is not None and choice.num_cases > listed:
        print(
            f"medeval: --num-cases {choice.num_cases}, but the list has {listed} admissions: all of"
            " them",
            file=sys.stderr,
        )
    issues = read_issues(warehouse, choice.mode, last)
    lost = issues if rules == REFERENCE else {}
    with ExportFolder(request.out / NAME) as folder:
        with progress(NAME, lambda: last) as advance:
            cases = read_cases(warehouse, rules, choice.mode, last)
            pathologies, results, skipped = _write(folder, cases, rules, lost, advance)
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
            "mode": choice.mode,
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
    told = [
        f"{folder.folder / BENCHMARK}: {n_cases:,} cases ({_counts(pathologies)}), {rules} rules,"
        f" {choice.mode}"
    ]
    if skipped:
        told.append(
            f"{len(skipped):,} cases that the reference loses are left out ({reasons}); the"
            " manifest names them"
        )
    return [*told, f"{folder.folder / MANIFEST}: data class {manifest['data_class']}"]


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
        benchmark.write(b'{\n  "cases": [\n', 0)
        for case, about in cases:
            advance(1)
            hadm_id = case["hadm_id"]
            if hadm_id in lost:
                skipped[hadm_id] = lost[hadm_id]
                continue
            text = "    " + indented(case if is_reference else case | about, 4)
            benchmark.write(((",\n" if pathologies else "") + text).encode(), 1)
            # A line break inside a text is written `\n`, so each one here is between two values.
            lines.write((" ".join(map(str.lstrip, text.split("\n"))).lstrip() + "\n").encode(), 1)
            if beside is not None:
                line = json.dumps({"hadm_id": hadm_id, **about}, ensure_ascii=False)
                beside.write(f"{line}\n".encode(), 1)
            pathologies[case["pathology"] or NO_PATHOLOGY] += 1
            for kind in _EVENTS:
                results[kind] += len(case[kind])
        benchmark.write(b"\n  ]\n}", 0)
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
    columns = "itemid, label, fluid, category, result_count, corresponding_ids"
    order = 'order by itemid, label collate "C"'
    before = "["
    with folder.create(LAB_TEST_MAPPING, NAME) as file:
        for row in flat(warehouse.select([columns], schema_name(NAME), LAB_TESTS, order)):
            test = _named(columns.replace("result_count", "count"), row)
            test["corresponding_ids"] = [int(one) for one in test["corresponding_ids"].split(",")]
            file.write(f"{before}\n{json.dumps(test, ensure_ascii=False)}".encode(), 1)
            before = ","
        file.write(b"\n]\n" if before == "," else b"[]\n", 0)


def read_settings(warehouse: Warehouse) -> dict[str, Any]:
    """Return what the build of the tables was told.

    Raises:
        UserError: the table does not have its one row, or has rules that there are not.
    """
    columns = "rules, extract_source, cohort_source, cohort_file"
    found = flat(warehouse.select([columns], schema_name(NAME), SETTINGS))
    if len(found) != 1:
        raise UserError(f"{SETTINGS} has {len(found)} rows, not one. Run `dbt build --select cdm`.")
    settings = _named(columns, found[0])
    if settings["rules"] not in TEXT_NAMES:
        rules = settings["rules"]
        raise UserError(f"The tables of {NAME} were built by unknown rules {rules!r}.")
    return settings


def read_issues(warehouse: Warehouse, mode: str, last: int) -> dict[int, list[str]]:
    """Return what is wrong with the cases up to a place of the list, in the mode of the export."""
    cases = warehouse.relation(schema_name(NAME), CASES)
    rows = (
        f"as r inner join {cases} as c on r.hadm_id = c.hadm_id"
        f" where r.in_{mode} and c.list_position <= $1"
        ' order by c.list_position, r.issue collate "C"'
    )
    columns, issues = ["c.hadm_id", "r.issue"], defaultdict[int, list[str]](list)
    for hadm_id, issue in flat(warehouse.select(columns, schema_name(NAME), ISSUES, rows, (last,))):
        issues[hadm_id].append(issue)
    return issues


def read_cases(
    warehouse: Warehouse, rules: str, mode: str, last: int
) -> Iterator[tuple[Case, Case]]:
    """Yield the cases up to a place of the list, in its order, and what each says of itself.

    The reference's case has exactly its own names; the specification's has its own names for
    history and exam, the age at admission, unit and flag of a laboratory result, and says of
    itself what it is.
    """
    history_name, exam_name = TEXT_NAMES[rules]
    is_extended = rules != REFERENCE
    labs, cultures, reports, diagnoses, treatments = (
        _by_position(warehouse, tables[mode == "first_only"], columns, order)
        for tables, columns, order in _PARTS.values()
    )
    batches = warehouse.select([_CASE], schema_name(NAME), CASES, "order by list_position")
    for each in islice(chain.from_iterable(batches), last):
        row = _named(_CASE, each)
        position = row["list_position"]
        person = {"age": row["age"], "gender": row["gender"]}
        if is_extended:
            person["age_at_admission"] = row["age_at_admission"]
        case = {
            "hadm_id": row["hadm_id"],
            "pathology": row["pathology"],
            "demographics": person if row["has_demographics"] else None,
            history_name: row["history_of_present_illness"] or "",
            "lab_results": [_lab_result(lab, is_extended) for lab in labs(position)],
            "microbiology_events": [_event("microbiology_events", of) for of in cultures(position)],
            "radiology_reports": [_event("radiology_reports", of) for of in reports(position)],
            exam_name: row["physical_exams"] or "",
            "ground_truth": {
                "primary_diagnosis": [title for title, primary in diagnoses(position) if primary],
                "treatments": [_named(_PARTS["treatments"][1], of) for of in treatments(position)],
            },
        }
        origin = {"rules": rules, "mode": mode, "extract_source": row["extract_source"]}
        yield case, {"data_class": strictest([row["data_class"]]), "provenance": origin}


def _by_position(
    warehouse: Warehouse, table: str, columns: str, order: str
) -> Callable[[int], Sequence[Row]]:
    """Return what gives out rows of a table case by case, in the order of the cases."""
    cases = warehouse.relation(schema_name(NAME), CASES)
    batches = warehouse.select(
        ["c.list_position", *(f"r.{column}" for column in columns.split(", "))],
        schema_name(NAME),
        table,
        f"as r inner join {cases} as c on r.hadm_id = c.hadm_id order by c.list_position, {order}",
    )
    groups = groupby(chain.from_iterable(batches), key=itemgetter(0))
    waiting: tuple[int, list[Row]] = (-1, [])

    def rows_of(position: int) -> Sequence[Row]:
        nonlocal waiting
        while waiting[0] < position:
            found = next(groups, None)
            if found is None:
                return ()
            waiting = found[0], [row[1:] for row in found[1]]
        return waiting[1] if waiting[0] == position else ()

    return rows_of


# The JSON of a case: a million laboratory rows go through here


def _lab_result(row: Row, is_extended: bool) -> Case:
    """Return a laboratory result; the specification shows unit and flag too."""
    itemid, name, fluid, category, number, text, value_origin, unit, flag, low, high = row[:11]
    charttime, sequence_num = row[11:]
    more = {"unit": unit, "flag": flag} if is_extended else {}
    value = text if number is None else float8_text(number)
    # The unit stands behind a number or a charted value, not behind a flag or a comment.
    is_charted = number is not None or value_origin not in ("flag", "comments")
    if is_charted and value is not None and unit is not None:
        value = f"{value} {unit}"
    return {
        "itemid": itemid,
        "test_name": name,
        "fluid": fluid,
        "category": category,
        "value": value,
        **more,
        "ref_range_lower": low if low is not None and math.isfinite(low) else None,
        "ref_range_upper": high if high is not None and math.isfinite(high) else None,
        "charttime": _moment(charttime),
        "sequence_num": sequence_num,
    }


def _event(kind: str, row: Row) -> Case:
    """Return a culture or report, `charttime` as text to the second."""
    case = _named(_PARTS[kind][1], row)
    case["charttime"] = _moment(case["charttime"])
    return case


@lru_cache(1 << 14)
def _moment(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")


def _named(columns: str, row: Row) -> Case:
    """Return a row by the names of its columns."""
    return dict(zip(columns.split(", "), row, strict=True))


def indented(value: Any, indent: int) -> str:
    """Return a value as `json.dumps(..., indent=2, ensure_ascii=False)` has it at a depth.

    Python indents slowly, so flat objects go through its fast encoder, with line breaks for
    separators.

    Args:
        value: what JSON has; an object in a list holds neither objects nor lists.
        indent: blanks before the line on which it ends.
    """
    outer, inner = "\n" + " " * indent, "\n" + " " * (indent + 2)
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        members = (f'"{name}": {indented(each, indent + 2)}' for name, each in value.items())
        return f"{{{inner}{f',{inner}'.join(members)}{outer}}}"
    if not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    is_rows = isinstance(value, list) and isinstance(value[0], dict)
    between = f"{inner}  " if is_rows else inner
    text = json.JSONEncoder(ensure_ascii=False, separators=(f",{between}", ": ")).encode(value)
    if is_rows:
        # No text has a line break as it stands, so that each one here is between two values.
        rows = text[2:-2].replace(f"}},{between}{{", f"{inner}}},{inner}{{{between}")
        text = f"[{{{between}{rows}{inner}}}]"
    return f"{text[0]}{inner}{text[1:-1]}{outer}{text[-1]}"


def float8_text(number: float) -> str:
    """Return a double as PostgreSQL's `cast(... as text)` writes it.

    The rule: the shortest digits that read back to the same double; no decimal point behind a
    whole number; an exponent of at least two digits below 1e-4 and from 1e15 on. So `12`, `0.1`,
    `1e-05`, `1e+15`, `NaN`, `-Infinity`.
    """
    text = repr(number)
    size = abs(number)
    if size < 1e15:
        return text.removesuffix(".0")
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")
    # Below it no neighbours are so far apart that a short decimal can lie between two.
    if size < 2.0**54:
        n_digits = len(text.strip("-").rstrip("0").replace(".", "").rstrip("0"))
        return text if "e" in text else f"{number:.{n_digits - 1}e}"
    # Python also takes digits that lie half-way to a neighbour where rounding to even comes back to
    # the double (1e23); PostgreSQL does not, and writes 9.999999999999999e+22.
    if _is_half_way(number, text):
        for precision in range(len(text.split("e")[0].strip("-").replace(".", "")), 18):
            candidate = f"{number:.{precision}e}"
            if float(candidate) == number and not _is_half_way(number, candidate):
                return candidate
    return text


def _is_half_way(number: float, text: str) -> bool:
    written, exact = Fraction(text), Fraction(number)
    neighbour = math.nextafter(number, math.inf if written > exact else -math.inf)
    return math.isfinite(neighbour) and written * 2 == exact + Fraction(neighbour)


EXPORT = BenchmarkExport(NAME, (NAME,), {}, (CASES,), export, Options)
