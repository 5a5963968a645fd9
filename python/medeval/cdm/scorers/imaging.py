"""Was the right imaging asked for, and the best of it first?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medeval.cdm.facts import Facts, ImagingPreference
from medeval.cdm.scorers.keywords import Keywords
from medeval.cdm.tools import REQUEST_IMAGING
from medeval.models.clinical_case import ClinicalCase

MOST_POINTS = 2
# The one abbreviation that the reference knows.
_REFERENCE_NAMES = {"us": "ultrasound"}


@dataclass
class ImagingScore:
    """The imaging of one case.

    Attributes:
        points: 2 if the first acceptable imaging is a preferred one, 1 if it is an alternative.
        correct: acceptable imaging, each region and modality once.
        unnecessary: other imaging, and the same once more.
    """

    points: int = 0
    correct: list[dict[str, str]] = field(default_factory=list)
    unnecessary: list[dict[str, str]] = field(default_factory=list)


def imaging_score(
    case: ClinicalCase, calls: Sequence[Mapping[str, Any]], facts: Facts, version: int
) -> ImagingScore:
    """Score the requests for imaging of a case.

    A modality that only adds to others does so whenever the diagnoses have its word; in version 2
    once, and never to more than 2 points. Version 1 takes the words of a request as they are.
    """
    keywords = Keywords(facts, version)
    diagnoses = case.ground_truth.primary_diagnosis
    preferences = facts.imaging.preferences[str(case.pathology)]
    score = ImagingScore()
    for call in calls:
        if call["tool"] != REQUEST_IMAGING or "scored_as" not in call:
            continue
        # A request in unknown words is an invalid call; the reference counts it as imaging.
        if version != 1 and not call["is_valid"]:
            continue
        imaging = _asked(call, version)
        preference = _preference(imaging, preferences)
        is_repeated = imaging in score.correct
        if preference is not None:
            word = preference.added_if_diagnosis_has
            if word is None:
                score.points = score.points or preference.points
            elif keywords.any_affirmed(diagnoses, [word]) and not (version != 1 and is_repeated):
                score.points += preference.points
        is_right = preference is not None and not is_repeated
        (score.correct if is_right else score.unnecessary).append(imaging)
    if version != 1:
        score.points = min(score.points, MOST_POINTS)
    return score


def _asked(call: Mapping[str, Any], version: int) -> dict[str, str]:
    if version == 1:
        given = call["arguments"]
        return {"region": given["region"].lower(), "modality": given["modality"].lower()}
    return {
        "region": str(call["region"]).lower(),
        "modality": str(call["scored_as"]),
    }


def _preference(
    imaging: Mapping[str, str], preferences: Sequence[ImagingPreference]
) -> ImagingPreference | None:
    modality = _REFERENCE_NAMES.get(imaging["modality"], imaging["modality"])
    for preference in preferences:
        if (preference.region, preference.modality) == (imaging["region"], modality):
            return preference
    return None
