"""Hand-made cases, a small table of tests by name, and calls of tools, for the tests of scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from commands import PROJECT_ROOT

from medeval.cdm.facts import Facts, load_facts
from medeval.cdm.lab_names import LabMapping
from medeval.cdm.scores import CaseScore, score_case
from medeval.cdm.tools import Toolbox
from medeval.models.clinical_case import ClinicalCase

CALLS = Sequence[tuple[str, dict[str, Any]]]

# Labels and ids as in D_LABITEMS of MIMIC-IV; glucose is two tests of one name.
LAB_TESTS = (
    (51301, "White Blood Cells", "Blood", (51301,)),
    (51222, "Hemoglobin", "Blood", (51222,)),
    (51221, "Hematocrit", "Blood", (51221,)),
    (50931, "Glucose", "Blood", (50931, 51478)),
    (51478, "Glucose", "Urine", (50931, 51478)),
    (50861, "Alanine Aminotransferase (ALT)", "Blood", (50861,)),
    (50878, "Asparate Aminotransferase (AST)", "Blood", (50878,)),
    (50885, "Bilirubin, Total", "Blood", (50885,)),
    (50883, "Bilirubin, Direct", "Blood", (50883,)),
    (50927, "Gamma Glutamyltransferase", "Blood", (50927,)),
    (50956, "Lipase", "Blood", (50956,)),
    (50889, "C-Reactive Protein", "Blood", (50889,)),
    (50813, "Lactate", "Blood", (50813,)),
    (50824, "Sodium, Whole Blood", "Blood", (50824,)),
    (50983, "Sodium", "Blood", (50983,)),
    (51516, "WBC", "Urine", (51516,)),
    (90201, "Blood Culture, Routine", None, (90201,)),
    (90039, "URINE CULTURE", None, (90039,)),
)


@cache
def _tables() -> dict[str, list[Any]]:
    path = Path(__file__).with_name("cdm_tables.yaml")
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def rows(name: str) -> list[Any]:
    """Return the inputs of a test and what comes of them."""
    return _tables()[name]


@cache
def facts() -> Facts:
    return load_facts(PROJECT_ROOT)


@cache
def mapping() -> LabMapping:
    return LabMapping(
        {"itemid": itemid, "label": label, "fluid": fluid, "corresponding_ids": list(same)}
        for itemid, label, fluid, same in LAB_TESTS
    )


def lab(itemid: int, value: str = "1 mg/dL", **changes: Any) -> dict[str, Any]:
    known = {one[0]: one for one in LAB_TESTS}
    name, fluid = known[itemid][1:3] if itemid in known else (f"Item {itemid}", "Blood")
    return {
        "itemid": itemid,
        "test_name": name,
        "fluid": fluid,
        "category": "Chemistry",
        "value": value,
        "ref_range_lower": 0.0,
        "ref_range_upper": 40.0,
        "charttime": "2150-01-01T08:00:00",
        "sequence_num": 1,
    } | changes


def culture(test_itemid: int | None, name: str | None, **changes: Any) -> dict[str, Any]:
    return {
        "test_itemid": test_itemid,
        "test_name": name,
        "spec_type_desc": "BLOOD CULTURE",
        "organism_name": None,
        "comments": None,
        "charttime": None,
        "sequence_num": 1,
    } | changes


def report(note_id: str, modality: str = "CT", **changes: Any) -> dict[str, Any]:
    return {
        "note_id": note_id,
        "exam_name": f"{modality.upper()} ABDOMEN",
        "region": "Abdomen",
        "modality": modality,
        "text": f"FINDINGS: {note_id}",
        "charttime": "2150-01-01T08:00:00",
        "sequence_num": 1,
    } | changes


def case(
    pathology: str | None = "appendicitis",
    *,
    diagnoses: Sequence[str] = (),
    treatments: Sequence[tuple[str, str | None]] = (),
    labs: Sequence[dict[str, Any]] = (),
    cultures: Sequence[dict[str, Any]] = (),
    reports: Sequence[dict[str, Any]] = (),
    exam: str = "Soft abdomen.",
    hadm_id: int = 20000001,
    demographics: dict[str, Any] | None = None,
) -> ClinicalCase:
    return ClinicalCase.model_validate(
        {
            "hadm_id": hadm_id,
            "pathology": pathology,
            "demographics": demographics,
            "history_of_present_illness": "Pain.",
            "lab_results": tuple(labs),
            "microbiology_events": tuple(cultures),
            "radiology_reports": tuple(reports),
            "physical_exams": exam,
            "ground_truth": {
                "primary_diagnosis": tuple(diagnoses),
                "treatments": tuple(
                    {"title": title, "icd_code": code, "is_coded": code is not None}
                    for title, code in treatments
                ),
            },
        },
        strict=False,
    )


def toolbox(of: ClinicalCase | None = None, **choices: Any) -> Toolbox:
    return Toolbox(of or case(), facts(), mapping=mapping(), **choices)


def records(of: ClinicalCase, calls: CALLS, version: int = 2) -> list[dict[str, Any]]:
    tools = toolbox(of, version=version)
    return [tools.call(name, arguments).record for name, arguments in calls]


def scored(
    of: ClinicalCase,
    calls: CALLS = (),
    *,
    diagnosis: str = "",
    treatment: Sequence[str] = (),
    version: int = 2,
) -> CaseScore:
    answer = {"final_diagnosis": diagnosis, "treatment": list(treatment)}
    return score_case(of, answer, records(of, calls), facts(), version=version)


def ask(test_name: str) -> tuple[str, dict[str, Any]]:
    return "request_lab_test", {"test_name": test_name}


def image(region: str, modality: str) -> tuple[str, dict[str, Any]]:
    return "request_imaging", {"region": region, "modality": modality}


EXAMINE: tuple[str, dict[str, Any]] = ("physical_examination", {})
