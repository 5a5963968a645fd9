"""Exports of hand-made cases, and what of a case may stand in no request."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from case_files import write_manifest
from cdm_cases import MADE
from commands import PROJECT_ROOT

from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm.export import LINES, MAPPING, PROVENANCE

# Written into every part of the case that no model may see.
MARKS = (
    *("QQAGE", "8877", "QQGENDER", "QQTRUTH", "QQTREATMENT", "QQCODE", "QQNOTE"),
    *("2150-01-01", "20055"),
)


def leaks(bodies: Sequence[Any], of: ClinicalCase, marks: Sequence[str] = MARKS) -> list[str]:
    """Return the marks and the terms of the case's diagnosis that stand in requests."""
    path = PROJECT_ROOT / "seeds" / "cdm" / "cdm_scrub_terms.csv"
    with path.open(encoding="utf-8", newline="") as file:
        terms = [row["term"] for row in csv.DictReader(file) if row["pathology"] == of.pathology]
    sent = json.dumps(bodies, ensure_ascii=False).lower()
    return [word for word in (*marks, *terms) if word.lower() in sent]


def export_of(folder: Path, cases: Sequence[ClinicalCase], classes: Sequence[Any] = ()) -> Path:
    """Write cases as an open export does, with a class of each beside them if there are any."""
    folder.mkdir(exist_ok=True)
    lines = [one.model_dump_json(exclude={"data_class"} if classes else None) for one in cases]
    (folder / LINES).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / MAPPING).write_text(json.dumps(MADE["tests"]), encoding="utf-8")
    if classes:
        pairs = zip(cases, classes, strict=True)
        told = [json.dumps({"hadm_id": one.hadm_id, "data_class": its}) for one, its in pairs]
        (folder / PROVENANCE).write_text("\n".join(told) + "\n", encoding="utf-8")
    write_manifest(folder)
    return folder
