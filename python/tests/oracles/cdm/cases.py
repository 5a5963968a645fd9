"""One case of the benchmark, from nine statements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from oracles.cdm.databases import Database, Row
from oracles.cdm.events import (
    CaseFailedError,
    Json,
    Mode,
    cultures,
    lab_results,
    reports,
    treatments,
)
from oracles.cdm.exam_text import exam_text
from oracles.cdm.history_text import find_pathology, history_text, scrub

# The nine statements of a case; every parameter is its hadm_id.
FOLDER = Path(__file__).with_name("statements")
STATEMENTS = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.sql")}


@dataclass
class Made:
    """The cases of a list, in its order, and why the others are absent."""

    cases: list[Json] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)


def make_cases(database: Database, hadm_ids: Iterable[int], mode: Mode) -> Made:
    """Make the cases one after the other."""
    made = Made()
    for hadm_id in hadm_ids:
        try:
            made.cases.append(make_case(database, hadm_id, mode))
        except CaseFailedError as error:
            made.failed[hadm_id] = str(error)
    return made


def make_case(database: Database, hadm_id: int, mode: Mode) -> Json:
    """Make the case of an admission.

    Raises:
        CaseFailedError: something is missing that no case goes without.
    """

    def ask(name: str) -> list[Row]:
        statement = STATEMENTS[name]
        return database.rows(statement, [hadm_id] * statement.count("?"))

    diagnoses = [title for (title,) in ask("diagnoses")]
    pathology = find_pathology(diagnoses)
    return {
        "hadm_id": hadm_id,
        "pathology": pathology,
        "demographics": demographics(ask("demographics")),
        "patient_history": scrub(history(ask("history")), pathology),
        "lab_results": lab_results(ask("labs"), mode),
        "microbiology_events": cultures(ask("cultures"), mode),
        "radiology_reports": reports(ask("radiology"), mode, pathology),
        "physical_exam_text": scrub(exam(ask("exam")), pathology),
        "ground_truth": {
            "primary_diagnosis": diagnoses,
            "treatments": treatments(ask("coded_treatments"), ask("other_treatments")),
        },
    }


def demographics(rows: list[Row]) -> Json | None:
    """Return age and gender, or nothing without an admission."""
    if not rows:
        return None
    age, gender = rows[0]
    if age is None:
        raise CaseFailedError("no age")
    return {"age": age, "gender": gender}


def history(rows: list[Row]) -> str:
    """Return the history; empty without a row, while a row must be whole."""
    if not rows:
        return ""
    present, past = rows[0]
    if present is None:
        raise CaseFailedError("no history of present illness")
    if past is None:
        raise CaseFailedError("no past medical history")
    return history_text(present, past)


def exam(rows: list[Row]) -> str:
    """Return the examination; empty where there is none."""
    return exam_text(rows[0][0]) if rows and rows[0][0] is not None else ""


def write_cases(cases: list[Json], path: Path) -> None:
    """Write the cases as JSON."""
    text = json.dumps({"cases": cases}, indent=2, ensure_ascii=False, default=as_text)
    path.write_text(text, encoding="utf-8")


def as_text(value: object) -> str:
    """Write a time without zone."""
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form in JSON")
