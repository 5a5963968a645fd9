"""What earns every point on a case: a check of the scores, and the ends of their scales."""

from __future__ import annotations

from typing import Any

from medeval.cdm.facts import Facts, LabFacts, TreatmentFacts
from medeval.cdm.lab_names import canonical
from medeval.cdm.scorers.treatments import treatment_score
from medeval.cdm.scoring import (
    DIAGNOSIS,
    EXAMINATION,
    GRACIOUS_DIAGNOSIS,
    IMAGING,
    LABORATORY,
    LATE_EXAMINATION,
    TREATMENT,
)
from medeval.cdm.tools import PHYSICAL_EXAMINATION, REQUEST_IMAGING, REQUEST_LAB_TEST
from medeval.models.clinical_case import ClinicalCase


def oracle_calls(case: ClinicalCase, facts: Facts) -> list[dict[str, Any]]:
    """Return the calls, each with `name` and `arguments`, that earn every point for conduct.

    They are made through a `Toolbox`: the examination first, one test of each category that is
    needed, one preferred imaging.
    """
    pathology = str(case.pathology)
    tests = ", ".join(_test_of(name, facts.labs) for name in facts.labs.required[pathology])
    best = max(facts.imaging.preferences[pathology], key=lambda preference: preference.points)
    return [
        {"name": PHYSICAL_EXAMINATION, "arguments": {}},
        {"name": REQUEST_LAB_TEST, "arguments": {"test_name": tests}},
        {
            "name": REQUEST_IMAGING,
            "arguments": {"region": best.region, "modality": best.modality},
        },
    ]


def oracle_answer(case: ClinicalCase, facts: Facts) -> dict[str, Any]:
    """Return the answer that is right: the pathology and all treatments that the case needs."""
    required = treatment_score(case, (), facts, 2).required
    return {
        "final_diagnosis": str(case.pathology),
        "treatment": [
            text
            for treatment in facts.treatments[str(case.pathology)]
            if required[treatment.name]
            for text in _asking_for(treatment)
        ],
    }


def best_scores(pathology: str, facts: Facts) -> dict[str, float]:
    """Return the most that each score can be for a pathology."""
    return {
        LATE_EXAMINATION: 1,
        EXAMINATION: 1,
        LABORATORY: len(facts.labs.required[pathology]),
        IMAGING: 2,
        DIAGNOSIS: 1,
        GRACIOUS_DIAGNOSIS: 1,
        TREATMENT: 1,
    }


def _test_of(category: str, facts: LabFacts) -> str:
    """Return a name by which tests of a category, and no others, can be asked for."""
    wanted = set(canonical(facts.categories[category], facts))
    for name, items in facts.request_names.items():
        if wanted.issuperset(canonical(items, facts)):
            return name
    raise ValueError(f"no name asks for tests of the category {category}")


def _asking_for(treatment: TreatmentFacts) -> list[str]:
    if treatment.requested_groups:
        return [group[0] for group in treatment.requested_groups]
    if treatment.requested_by:
        return [treatment.requested_by[0]]
    return [" ".join(pair) for pair in treatment.requested_pairs[:1]]
