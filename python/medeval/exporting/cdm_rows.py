"""The published CDM tables, read case by case: one ordered stream a table, a batch at a time.

The number of statements does not depend on the number of cases, and memory holds one case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, groupby, islice
from operator import itemgetter

from medeval.data_class import strictest
from medeval.errors import UserError
from medeval.exporting.cdm_json import CaseParts
from medeval.warehouse import Row, Warehouse, flat, schema_name

SCHEMA = "cdm"
CASES = "cdm_cases"
ISSUES = "cdm_case_issues"
SETTINGS = "cdm_build_settings"


class Mode(StrEnum):
    """Which results of a test a case shows."""

    FIRST_ONLY = "first_only"
    EXTENDED = "extended"


@dataclass(frozen=True)
class Settings:
    """What the build of the tables was told."""

    rules: str
    extract_source: str | None
    cohort_source: str | None
    cohort_file: str | None


@dataclass(frozen=True)
class _Part:
    """The columns a case needs of a published table, and their order within a case.

    Attributes:
        tables: the table of each mode.
    """

    tables: dict[Mode, str]
    columns: tuple[str, ...]
    order: str


def _of_modes(events: str) -> dict[Mode, str]:
    return {Mode.EXTENDED: f"cdm_{events}", Mode.FIRST_ONLY: f"cdm_first_{events}"}


_PARTS = (
    _Part(
        _of_modes("lab_results"),
        (
            "itemid",
            "test_name",
            "fluid",
            "category",
            "valuenum",
            "value_text",
            "value_origin",
            "unit",
            "flag",
            "ref_range_lower",
            "ref_range_upper",
            "charttime",
            "sequence_num",
        ),
        "r.charttime nulls last, r.itemid, r.sequence_num, r.labevent_id",
    ),
    _Part(
        _of_modes("microbiology_events"),
        (
            "test_itemid",
            "test_name",
            "spec_type_desc",
            "organism_name",
            "comments",
            "charttime",
            "sequence_num",
        ),
        "r.charttime nulls last, r.test_itemid nulls last, r.sequence_num,"
        ' r.spec_type_desc collate "C" nulls last, r.test_name collate "C" nulls last',
    ),
    _Part(
        _of_modes("radiology_reports"),
        ("note_id", "exam_name", "region", "modality", "text", "charttime", "sequence_num"),
        'r.note_id collate "C", r.sequence_num',
    ),
    _Part(dict.fromkeys(Mode, "cdm_diagnoses"), ("title", "is_primary"), "r.seq_num"),
    _Part(dict.fromkeys(Mode, "cdm_treatments"), ("title", "icd_code", "is_coded"), "r.position"),
)
TABLES = (CASES, ISSUES, SETTINGS, *sorted({t for part in _PARTS for t in part.tables.values()}))


def read_settings(warehouse: Warehouse) -> Settings:
    """Return the settings of the build.

    Raises:
        UserError: the table does not have its one row.
    """
    columns = ["rules", "extract_source", "cohort_source", "cohort_file"]
    found = flat(warehouse.select(columns, schema_name(SCHEMA), SETTINGS))
    if len(found) != 1:
        raise UserError(f"{SETTINGS} has {len(found)} rows, not one. Run `dbt build --select cdm`.")
    return Settings(*found[0])


def read_issues(warehouse: Warehouse, mode: Mode, last: int) -> dict[int, list[str]]:
    """Return what is wrong with the cases up to a place of the list, in the mode of the export."""
    cases = warehouse.relation(schema_name(SCHEMA), CASES)
    issues: dict[int, list[str]] = {}
    for hadm_id, issue in flat(
        warehouse.select(
            ["c.hadm_id", "r.issue"],
            schema_name(SCHEMA),
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
    warehouse: Warehouse, settings: Settings, mode: Mode, last: int
) -> Iterator[CaseParts]:
    """Yield the cases up to a place of the list, in its order."""
    labs, cultures, reports, diagnoses, treatments = (
        _PerCase(_rows(warehouse, part, mode)) for part in _PARTS
    )
    columns = (
        "list_position",
        "hadm_id",
        "pathology",
        "has_demographics",
        "age",
        "gender",
        "age_at_admission",
        "history_of_present_illness",
        "physical_exams",
        "data_class",
        "extract_source",
    )
    batches = warehouse.select(
        columns,
        schema_name(SCHEMA),
        CASES,
        "order by list_position",
    )
    for row in islice(chain.from_iterable(batches), last):
        position, hadm_id, pathology, has_demographics, *person = row[:7]
        history, physical_exam, data_class, extract_source = row[7:]
        yield CaseParts(
            hadm_id=hadm_id,
            pathology=pathology,
            demographics=(person[0], person[1], person[2]) if has_demographics else None,
            history=history or "",
            physical_exam=physical_exam or "",
            labs=labs.of(position),
            cultures=cultures.of(position),
            reports=reports.of(position),
            diagnoses=[title for title, is_primary in diagnoses.of(position) if is_primary],
            treatments=treatments.of(position),
            data_class=strictest([data_class]),
            provenance={
                "rules": settings.rules,
                "mode": str(mode),
                "extract_source": extract_source,
            },
        )


def _rows(warehouse: Warehouse, part: _Part, mode: Mode) -> Iterator[Row]:
    cases = warehouse.relation(schema_name(SCHEMA), CASES)
    batches = warehouse.select(
        ["c.list_position", *(f"r.{column}" for column in part.columns)],
        schema_name(SCHEMA),
        part.tables[mode],
        f"as r inner join {cases} as c on r.hadm_id = c.hadm_id"
        f" order by c.list_position, {part.order}",
    )
    return chain.from_iterable(batches)


class _PerCase:
    """Rows that begin with the place of their case, given out case by case."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self._waiting: tuple[int, list[Row]] | None = None

    def of(self, position: int) -> Sequence[Row]:
        """Return the rows of a case, without their place; places are asked for in their order."""
        while self._waiting is None or self._waiting[0] < position:
            found = next(self._groups, None)
            if found is None:
                return ()
            self._waiting = found[0], [row[1:] for row in found[1]]
        return self._waiting[1] if self._waiting[0] == position else ()
