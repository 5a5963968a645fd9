"""Were the treatments asked for that the patient needed?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medeval.cdm.facts import Facts, TreatmentFacts
from medeval.cdm.scorers.keywords import Keywords
from medeval.models.clinical_case import ClinicalCase

ICD_10_LENGTH = 7


@dataclass(frozen=True)
class TreatmentScore:
    """The treatments of one case.

    Attributes:
        requested: for each treatment of the pathology, whether the answer asks for it.
        required: for each, whether the case needs it.
    """

    requested: dict[str, bool]
    required: dict[str, bool]

    @property
    def share(self) -> float:
        """The share of the required treatments that were asked for."""
        needed = [name for name, is_needed in self.required.items() if is_needed]
        return sum(self.requested[name] for name in needed) / len(needed)


def treatment_score(
    case: ClinicalCase, answered: Sequence[str], facts: Facts, version: int
) -> TreatmentScore:
    """Score the treatments of an answer.

    A treatment is needed always, or if the ground truth shows it by a code or by words; it is
    asked for by words of the answer. Every pathology has one that is always needed.
    """
    keywords = Keywords(facts, version)
    treatments = facts.treatments[str(case.pathology)]
    return TreatmentScore(
        requested={one.name: _is_requested(one, case, answered, keywords) for one in treatments},
        required={one.name: _is_required(one, case, keywords) for one in treatments},
    )


def icd_version(code: str) -> int:
    """Return the version of a procedure code: those of ICD-10-PCS alone have seven characters.

    The case does not say it, and the two lists have no code in common.
    """
    return 10 if len(code) == ICD_10_LENGTH else 9


def _is_required(treatment: TreatmentFacts, case: ClinicalCase, keywords: Keywords) -> bool:
    titles = [given.title for given in case.ground_truth.treatments]
    codes = {
        (icd_version(given.icd_code), given.icd_code)
        for given in case.ground_truth.treatments
        if given.icd_code is not None
    }
    if treatment.is_always_required:
        return True
    if treatment.diagnosis_word is not None:
        diagnoses = case.ground_truth.primary_diagnosis
        return keywords.any_affirmed(diagnoses, [treatment.diagnosis_word])
    return (
        not codes.isdisjoint(treatment.codes)
        or keywords.any_affirmed(titles, treatment.shown_by)
        or (
            keywords.any_affirmed(titles, treatment.shown_words)
            and keywords.any_affirmed(titles, treatment.shown_places)
        )
    )


def _is_requested(
    treatment: TreatmentFacts, case: ClinicalCase, answered: Sequence[str], keywords: Keywords
) -> bool:
    word = treatment.diagnosis_word
    if word is not None and not keywords.any_affirmed(case.ground_truth.primary_diagnosis, [word]):
        return False
    if treatment.requested_groups:
        return all(keywords.any_affirmed(answered, group) for group in treatment.requested_groups)
    return keywords.any_affirmed(answered, treatment.requested_by) or any(
        keywords.affirmed(text, place) and keywords.affirmed(text, change)
        for place, change in treatment.requested_pairs
        for text in answered
    )
