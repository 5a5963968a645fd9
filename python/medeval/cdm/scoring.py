"""The score of one case, from what the model did and answered.

The scores are those of practical_cdm_benchmark, which took them over from Hager et al., Evaluation
and mitigation of the limitations of large language models in clinical decision-making, Nature
Medicine 30 (2024) 2613-2622. Version 1 is that program's, with its faults; version 2 is repaired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.cdm.facts import Facts
from medeval.cdm.scorers.conduct import calls_by_tool, invalid_calls, rounds
from medeval.cdm.scorers.diagnosis import diagnosis_scores
from medeval.cdm.scorers.examination import examination_scores
from medeval.cdm.scorers.imaging import imaging_score
from medeval.cdm.scorers.laboratory import laboratory_score
from medeval.cdm.scorers.treatments import treatment_score
from medeval.cdm.tools import VERSIONS
from medeval.errors import UserError
from medeval.models.clinical_case import ClinicalCase

LATE_EXAMINATION = "Late Physical Examination"
EXAMINATION = "Physical Examination"
LABORATORY = "Laboratory Tests"
IMAGING = "Imaging"
DIAGNOSIS = "Diagnosis"
GRACIOUS_DIAGNOSIS = "Gracious Diagnosis"
TREATMENT = "Treatment Requested"
# What the reference has among the scores of a case; it works the treatments out later.
REFERENCE_SCORES = (
    LATE_EXAMINATION,
    EXAMINATION,
    LABORATORY,
    IMAGING,
    DIAGNOSIS,
    GRACIOUS_DIAGNOSIS,
)
SCORES = (*REFERENCE_SCORES, TREATMENT)
# Between 0 and 1; the others are points.
SHARES = (LATE_EXAMINATION, EXAMINATION, DIAGNOSIS, GRACIOUS_DIAGNOSIS, TREATMENT)
UNNECESSARY_TESTS = "Unnecessary Laboratory Tests"
UNNECESSARY_IMAGING = "Unnecessary Imaging"
ROUNDS = "Rounds"
TOOL_CALLS = "Tool Calls"
INVALID_CALLS = "Invalid Tool Calls"
COUNTS = (UNNECESSARY_TESTS, UNNECESSARY_IMAGING, ROUNDS, TOOL_CALLS, INVALID_CALLS)


@dataclass(frozen=True)
class CaseScore:
    """One case, scored.

    Attributes:
        hadm_id: the case.
        pathology: its pathology.
        version: of the scores.
        scores: the more the better; without tools only those of the answer.
        counts: of what the model did; none without tools.
        answers: what the scores were made from, in the reference's names.
        tool_calls: how often each tool was called; None without tools.
    """

    hadm_id: int
    pathology: str
    version: int
    scores: dict[str, float]
    counts: dict[str, int]
    answers: dict[str, Any]
    tool_calls: dict[str, int] | None

    def as_json(self) -> dict[str, Any]:
        """Return JSON values; in version 1 the `answers` and `scores` of the reference's lines."""
        if self.version == 1:
            named = {name: self.scores[name] for name in REFERENCE_SCORES if name in self.scores}
            kept = {key: value for key, value in self.answers.items() if key != UNNECESSARY_TESTS}
            return {"answers": kept, "scores": named}
        return {
            "score_version": self.version,
            "tool_calls": self.tool_calls,
            "answers": self.answers,
            "scores": self.scores,
            "counts": self.counts,
        }


def score_case(
    case: ClinicalCase,
    answer: Mapping[str, Any],
    calls: Sequence[Mapping[str, Any]] | None,
    facts: Facts,
    *,
    version: int = 2,
) -> CaseScore:
    """Score what a model did on a case.

    Args:
        case: the case with its ground truth.
        answer: `final_diagnosis` (or `diagnosis`) and `treatment`, a list of texts.
        calls: records of a `Toolbox` in the order of the calls, each with its `round` if it is
            known; None where the model had no tools, which leaves their scores out.
        facts: the facts.
        version: 1 for the reference's scores, 2 for the repaired ones. A record serves both,
            whatever the version of its toolbox.

    Raises:
        UserError: an unknown version, or a case that has no pathology and so no score.
        ValueError: the answer is not of that form.
    """
    if version not in VERSIONS:
        raise UserError(f"Unknown version {version} of the scores. Versions: 1, 2.")
    if case.pathology is None:
        raise UserError(f"Case {case.hadm_id} has none of the four pathologies, so no score.")
    diagnosis, treatments = _read(answer)
    right, nearly = diagnosis_scores(diagnosis, case.pathology, facts, version)
    treated = treatment_score(case, treatments, facts, version)
    answers: dict[str, Any] = {
        "Diagnosis": diagnosis,
        "Diagnostic Confidence": answer.get("confidence"),
        "Treatment": list(treatments),
    }
    scores: dict[str, float] = {}
    counts: dict[str, int] = {}
    if calls is not None:
        first, late = examination_scores(calls)
        tests = laboratory_score(calls, case.pathology, facts.labs, version)
        imaged = imaging_score(case, calls, facts, version)
        scores |= {LATE_EXAMINATION: late, EXAMINATION: first}
        scores |= {LABORATORY: tests.points, IMAGING: imaged.points}
        counts |= {
            UNNECESSARY_TESTS: len(tests.unnecessary),
            UNNECESSARY_IMAGING: len(imaged.unnecessary),
            ROUNDS: rounds(calls),
            TOOL_CALLS: len(calls),
            INVALID_CALLS: invalid_calls(calls),
        }
        answers |= {
            "Correct Laboratory Tests": tests.correct,
            "Neutral Laboratory Tests": tests.neutral,
            UNNECESSARY_TESTS: list(tests.unnecessary),
            "Correct Imaging": imaged.correct,
            UNNECESSARY_IMAGING: imaged.unnecessary,
        }
    scores |= {DIAGNOSIS: right, GRACIOUS_DIAGNOSIS: nearly, TREATMENT: treated.share}
    answers |= {TREATMENT: treated.requested, "Treatment Required": treated.required}
    return CaseScore(
        hadm_id=case.hadm_id,
        pathology=case.pathology,
        version=version,
        scores=scores,
        counts=counts,
        answers=answers,
        tool_calls=None if calls is None else calls_by_tool(calls),
    )


def _read(answer: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    diagnosis = answer.get("final_diagnosis", answer.get("diagnosis"))
    treatments = answer.get("treatment")
    if not isinstance(diagnosis, str):
        raise ValueError("an answer has a text as its final_diagnosis or diagnosis")
    if not isinstance(treatments, list | tuple) or not all(
        isinstance(one, str) for one in treatments
    ):
        raise ValueError("an answer has a list of texts as its treatment")
    return diagnosis, tuple(treatments)
