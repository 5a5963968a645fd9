"""The benchmark as one JSON document and as a case a line, and its tests by name.

The published tables are read case by case: one ordered stream a table, a batch at a time, so that
the number of statements does not depend on the number of cases, and memory holds one case.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import orjson

from medeval.builds import newest_build
from medeval.errors import UserError
from medeval.export import MANIFEST, BenchmarkExport, ExportFolder, make_manifest
from medeval.files import toml_beside
from medeval.models.clinical_case import PATHOLOGIES, REFERENCE_NAMES
from medeval.tasks.options import TaskOptions
from medeval.terminal import Advance, progress, warn
from medeval.text import strictest
from medeval.warehouse import Row, Warehouse, flat, schema_name

NAME = "cdm"
BENCHMARK, LINES, PROVENANCE = "benchmark.json", "benchmark.jsonl", "cases_provenance.jsonl"
MAPPING = "lab_test_mapping.json"
NO_PATHOLOGY = "none"
REFERENCE = "reference"
CASES, ISSUES, SETTINGS = "cdm_cases", "cdm_case_issues", "cdm_build_settings"
LAB_TESTS, DATA_CLASS = "cdm_lab_test_mapping", "cdm_data_class"
_EVENTS = ("lab_results", "microbiology_events", "radiology_reports")
_READ = toml_beside(__file__, "data/export.toml")
# Times to the second, without a zone; a number that is none is null.
_LAYOUT = orjson.OPT_INDENT_2 | orjson.OPT_OMIT_MICROSECONDS
_PARTS: dict[str, dict[str, str]] = _READ["parts"]
Case = dict[str, Any]


class Options(TaskOptions):
    """Which cases, and which of their results."""

    WORDS: ClassVar[Mapping[str, str]] = _READ["options"]

    num_cases: int | None = None
    first_only: bool = False
    extended: bool = False

    def model_post_init(self, _: object) -> None:
        """Refuse what cannot be meant."""
        if self.num_cases is not None and self.num_cases < 1:
            raise UserError(f"--num-cases is {self.num_cases}; it can be 1 or more.")
        if self.first_only and self.extended:
            raise UserError("--first-only and --extended exclude each other.")


def export(warehouse: Warehouse, tasks: Sequence[str], out: Path, choice: Options) -> list[str]:
    """Write exports/cdm: the benchmark in both forms and the manifest, or nothing.

    Under the reference's rules the cases have its names and no others, and a case that it loses is
    left out; what it has no place for stands in a file beside it.

    Raises:
        UserError: the tables are not there, their last build failed, or no case is left.
    """
    mode = "first_only" if choice.first_only else "extended"
    tables = sorted({part[mode] for part in _PARTS.values() for mode in ("extended", "first_only")})
    needed = [CASES, ISSUES, SETTINGS, *tables, LAB_TESTS, DATA_CLASS]
    build = newest_build(warehouse, NAME, needed)
    # What the build was told: one row.
    (told,) = flat(warehouse.select([_READ["settings"]], schema_name(NAME), SETTINGS))
    settings = _named(_READ["settings"], told)
    rules = settings["rules"]
    listed = warehouse.count(schema_name(NAME), CASES)
    last = min(choice.num_cases or listed, listed)
    if (choice.num_cases or 0) > listed:
        warn(f"--num-cases {choice.num_cases}, but the list has {listed} admissions: all of them")
    issues = read_issues(warehouse, mode, last)
    skipped = issues if rules == REFERENCE else {}
    reasons = _counts(_issue_counts(skipped))
    with ExportFolder(out / NAME) as folder:
        with progress(NAME, lambda: last) as advance:
            cases = read_cases(warehouse, rules, mode, last)
            pathologies, results = _write(folder, cases, rules, skipped, advance)
        if not listed:
            raise UserError(
                "The benchmark has no case: no admission is in the cohort. cdm_attrition shows"
                " where they were lost."
            )
        if not pathologies:
            raise UserError(f"No case is left: the reference loses all {len(skipped)} ({reasons}).")
        _write_lab_tests(warehouse, folder)
        manifest = make_manifest(warehouse, NAME, build, folder, {NAME: None}, "patients_md5")
        manifest["tasks"][NAME] = {
            **settings,
            "mode": mode,
            "num_cases": choice.num_cases,
            "listed": listed,
            "read": last,
            "cases": pathologies.total(),
            "pathologies": {name: pathologies[name] for name in (*PATHOLOGIES, NO_PATHOLOGY)},
            "results": dict(results),
            "issues": _issue_counts(issues),
            "skipped": [{"hadm_id": key, "issues": found} for key, found in skipped.items()],
        }
        folder.publish(manifest)
    absent = [name for name in PATHOLOGIES if not pathologies[name]]
    if absent and choice.num_cases is None:
        warn(f"no case of {', '.join(absent)} in the cohort")
    of = f"{pathologies.total():,} cases ({_counts(pathologies)}), {rules} rules, {mode}"
    lost = f"{len(skipped):,} cases that the reference loses are left out ({reasons}); the manifest"
    return [
        f"{folder.folder / BENCHMARK}: {of}",
        *([f"{lost} names them"] if skipped else []),
        f"{folder.folder / MANIFEST}: data class {manifest['data_class']}",
    ]


def _write(
    folder: ExportFolder,
    cases: Iterable[tuple[Case, Case]],
    rules: str,
    skipped: Collection[int],
    advance: Advance,
) -> tuple[Counter[str], Counter[str]]:
    """Write the cases that are not skipped; return the numbers of pathologies and of results."""
    pathologies: Counter[str] = Counter()
    results: Counter[str] = Counter()
    with ExitStack() as stack:
        benchmark, lines = (
            stack.enter_context(folder.create(name, NAME)) for name in (BENCHMARK, LINES)
        )
        beside = rules == REFERENCE and stack.enter_context(folder.create(PROVENANCE, NAME))
        benchmark(b'{\n  "cases": [\n', 0)
        for case, about in cases:
            advance(1)
            if case["hadm_id"] in skipped:
                continue
            # A line break inside a text is written `\n`, so each one here is between two values.
            parts = orjson.dumps(case if beside else case | about, option=_LAYOUT).split(b"\n")
            benchmark((b",\n    " if pathologies else b"    ") + b"\n    ".join(parts), 1)
            lines(b" ".join(map(bytes.lstrip, parts)) + b"\n", 1)
            if beside:
                line = json.dumps({"hadm_id": case["hadm_id"], **about}, ensure_ascii=False)
                beside(f"{line}\n".encode(), 1)
            pathologies[case["pathology"] or NO_PATHOLOGY] += 1
            results.update({kind: len(case[kind]) for kind in _EVENTS})
        benchmark(b"\n  ]\n}", 0)
    return pathologies, results


def _issue_counts(issues: dict[int, list[str]]) -> dict[str, int]:
    return dict(sorted(Counter(chain.from_iterable(issues.values())).items()))


def _counts(counter: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counter.items()))


def _write_lab_tests(warehouse: Warehouse, folder: ExportFolder) -> None:
    """Write the tests as a JSON array, in the order of their ids and names.

    A name in a request becomes items by it. The layout is that of the ancestor's
    `lab_test_mapping.json`, a test a line.
    """
    columns, order = _READ["lab_tests"], 'order by itemid, label collate "C"'
    before = "["
    with folder.create(MAPPING, NAME) as add:
        for row in flat(warehouse.select([columns], schema_name(NAME), LAB_TESTS, order)):
            test = _named(columns, row)
            test["corresponding_ids"] = [int(one) for one in test["corresponding_ids"].split(",")]
            add(f"{before}\n{json.dumps(test, ensure_ascii=False)}".encode(), 1)
            before = ","
        add(b"\n]\n" if before == "," else b"[]\n", 0)


def read_issues(warehouse: Warehouse, mode: str, last: int) -> dict[int, list[str]]:
    """Return what is wrong with the cases up to a place of the list, in the mode of the export."""
    cases = warehouse.relation(schema_name(NAME), CASES)
    rest = (
        f"as r inner join {cases} as c on r.hadm_id = c.hadm_id"
        f" where r.in_{mode} and c.list_position <= $1"
        ' order by c.list_position, r.issue collate "C"'
    )
    columns = ["c.hadm_id", "r.issue"]
    rows = flat(warehouse.select(columns, schema_name(NAME), ISSUES, rest, (last,)))
    return {key: [issue for _, issue in of] for key, of in groupby(rows, key=itemgetter(0))}


def read_cases(
    warehouse: Warehouse, rules: str, mode: str, last: int
) -> Iterator[tuple[Case, Case]]:
    """Yield the cases up to a place of the list, in its order, and what each says of itself.

    The reference's case has exactly its own names; the specification's has its own names for
    history and exam, the age at admission, row, unit and flag of a laboratory result, and says of
    itself what it is.
    """
    columns = _READ["cases"]
    batches = warehouse.select([columns], schema_name(NAME), CASES, "order by list_position")
    rows = (_named(columns, row) for row in chain.from_iterable(batches))
    parts = [_by_case(warehouse, part, mode) for part in _PARTS.values()]
    whole = rules != REFERENCE
    for row, *of in islice(zip(rows, *parts, strict=True), last):
        labs, cultures, reports, diagnoses, treatments = of
        age = ("age", "gender", "age_at_admission") if whole else ("age", "gender")
        case = {
            "hadm_id": row["hadm_id"],
            "pathology": row["pathology"],
            "demographics": {name: row[name] for name in age} if row["has_demographics"] else None,
            "history_of_present_illness": row["history_of_present_illness"] or "",
            "lab_results": [_lab_result(lab, whole) for lab in labs],
            "microbiology_events": _rows_of("microbiology_events", cultures),
            "radiology_reports": _rows_of("radiology_reports", reports),
            "physical_exams": row["physical_exams"] or "",
            "ground_truth": {
                "primary_diagnosis": [title for _, _, title, is_primary in diagnoses if is_primary],
                "treatments": _rows_of("treatments", treatments),
            },
        }
        if not whole:
            case = {REFERENCE_NAMES.get(name, name): value for name, value in case.items()}
        origin = {"rules": rules, "mode": mode, "extract_source": row["extract_source"]}
        yield case, {"data_class": strictest([row["data_class"]]), "provenance": origin}


def _by_case(warehouse: Warehouse, part: dict[str, str], mode: str) -> Iterator[list[Row]]:
    """Yield the rows of a table for each case, in the order of the cases; none for some.

    A row has the place of its case in the list and its hadm_id before the columns of the part.
    """
    cases = warehouse.relation(schema_name(NAME), CASES)
    batches = warehouse.select(
        ["c.list_position", "r.hadm_id", *(f"r.{one}" for one in part["columns"].split(", "))],
        schema_name(NAME),
        part[mode],
        f"as r right join {cases} as c on r.hadm_id = c.hadm_id"
        f" order by c.list_position, {part['order']}",
    )
    for _, rows in groupby(chain.from_iterable(batches), key=itemgetter(0)):
        yield [row for row in rows if row[1] is not None]


def _lab_result(row: Row, whole: bool) -> Case:
    """Return a laboratory result as a case has it; its row, unit and flag only where it is whole.

    A million of them go through here, so their parts are named by position and not from a table of
    columns. The unit stands behind a number or a charted value, not
    behind a flag or a comment.
    """
    labevent_id, itemid, name, fluid, category, text, unit, flag, low, high = row[2:12]
    time, sequence_num, number, origin = row[12:]
    value = text if number is None else float8_text(number)
    is_charted = number is not None or origin not in ("flag", "comments")
    result = {
        "labevent_id": labevent_id,
        "itemid": itemid,
        "test_name": name,
        "fluid": fluid,
        "category": category,
        "value": f"{value} {unit}" if is_charted and None not in (value, unit) else value,
        "unit": unit,
        "flag": flag,
        "ref_range_lower": low,
        "ref_range_upper": high,
        "charttime": time,
        "sequence_num": sequence_num,
    }
    if not whole:
        del result["labevent_id"], result["unit"], result["flag"]
    return result


def _named(columns: str, row: Row) -> Case:
    """Return a row by the names of its columns."""
    return dict(zip((column.split()[-1] for column in columns.split(", ")), row, strict=True))


def _rows_of(part: str, rows: list[Row]) -> list[Case]:
    """Return the rows of `_by_case` by the names of the columns of their part."""
    return [_named(_PARTS[part]["columns"], row[2:]) for row in rows]


def float8_text(number: float) -> str:
    """Return a double as PostgreSQL's `cast(... as text)` writes it.

    The rule: the shortest digits that read back to the same double; no decimal point behind a
    whole number; an exponent of at least two digits below 1e-4 and from 1e15 on. So `12`, `0.1`,
    `1e-05`, `1e+15`, `NaN`, `-Infinity`.
    """
    if abs(number) < 1e15:
        return repr(number).removesuffix(".0")
    if not math.isfinite(number):
        return repr(number).replace("inf", "Infinity").replace("nan", "NaN")
    # Digits that lie half-way to a neighbour read back to the double where rounding to even comes
    # to it (1e23); PostgreSQL does not take them, and writes 9.999999999999999e+22.
    texts = [repr(number), *(f"{number:.{precision}e}" for precision in range(18))]
    fitting = (text for text in texts if "e" in text and float(text) == number)
    return next(text for text in fitting if not _is_half_way(number, text))


def _is_half_way(number: float, text: str) -> bool:
    written, exact = Fraction(text), Fraction(number)
    neighbour = math.nextafter(number, math.inf if written > exact else -math.inf)
    return math.isfinite(neighbour) and written * 2 == exact + Fraction(neighbour)


EXPORT = BenchmarkExport(NAME, (NAME,), {}, (CASES,), export, Options)
