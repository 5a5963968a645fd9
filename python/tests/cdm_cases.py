"""Cases made by hand, a small table of tests by name, and what tools and scores make of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from commands import PROJECT_ROOT
from tables import table

from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm.facts import Facts, LabNames, load_facts
from medeval.tasks.cdm.scores import CaseScore, score_case
from medeval.tasks.cdm.text_protocol import FinalAnswer
from medeval.tasks.cdm.tools import TOOLS, Toolbox

Calls = Sequence[tuple[str, Mapping[str, Any]]]
# How tables write the parts of a case, each over the usual fields of its kind.
_PARTS = {
    "labs": ("lab", "lab_results"),
    "cultures": ("culture", "microbiology_events"),
    "reports": ("report", "radiology_reports"),
}


MADE = table("cdm_cases")
TESTS = {test["itemid"]: test for test in MADE["tests"]}
HISTORY = MADE["bedside"]["history_of_present_illness"]


@cache
def facts() -> Facts:
    return load_facts(PROJECT_ROOT)


@cache
def names() -> LabNames:
    labels = {one["label"]: tuple(one["corresponding_ids"]) for one in reversed(MADE["tests"])}
    return LabNames(dict(reversed(labels.items())), facts().labs)


def case(number: int = 1, of: str = "bedside", **changed: Any) -> ClinicalCase:
    """Return a case of the table; `changed` are fields of it, in its words or those of JSON."""
    fields = {"hadm_id": 20055000 + number, **MADE[of], **changed}
    for name, (kind, field) in _PARTS.items():
        rows = [{**MADE[kind], **_named(kind, row), **row} for row in fields.pop(name, ())]
        fields.setdefault(field, rows)
    treatments = [
        {"title": title, "icd_code": code, "is_coded": code is not None}
        for title, code in fields.pop("treatments", ())
    ]
    diagnoses = fields.pop("diagnoses", ())
    fields.setdefault(
        "ground_truth", {"primary_diagnosis": list(diagnoses), "treatments": treatments}
    )
    return ClinicalCase.model_validate_json(json.dumps(fields))


def _named(kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that a row has by its ids."""
    if kind == "report":
        exam = f"{row.get('modality', 'CT').upper()} ABDOMEN"
        return {"exam_name": exam, "text": f"FINDINGS: {row['note_id']}"}
    test = TESTS.get(row.get("itemid", row.get("test_itemid")), {})
    names = {"test_name": test.get("label", f"Item {row.get('itemid')}")}
    return {**names, "fluid": test.get("fluid", "Blood")} if kind == "lab" else names


def cases(count: int, **changed: Any) -> list[ClinicalCase]:
    return [case(number, **changed) for number in range(1, count + 1)]


def toolbox(enabled: Sequence[str] = TOOLS, **changed: Any) -> Toolbox:
    """Return the tools of a case of which `changed` alone is known."""
    return Toolbox(case(of="bare", **changed), facts(), names(), enabled)


def ask(test_name: str) -> tuple[str, dict[str, Any]]:
    return "request_lab_test", {"test_name": test_name}


def image(region: str, modality: str) -> tuple[str, dict[str, Any]]:
    return "request_imaging", {"region": region, "modality": modality}


def records(tools: Toolbox, calls: Calls) -> list[dict[str, Any]]:
    return [tools.call(name, arguments)[1] for name, arguments in calls]


def scored(
    of: ClinicalCase,
    calls: Calls = (),
    *,
    diagnosis: str = "",
    treatment: Sequence[str] = (),
    version: int = 2,
) -> CaseScore:
    made = records(Toolbox(of, facts(), names()), calls)
    return score_case(of, FinalAnswer(diagnosis, tuple(treatment)), made, facts(), version)
