"""What the CDM benchmark knows: laboratory panels, imaging, treatments, names of diagnoses.

No model reads them, so they are files of the package; `data/facts.yml` says where each comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from medeval.cdm.imaging_facts import ImagingFacts, read_imaging
from medeval.cdm.lab_facts import LabFacts, read_labs
from medeval.cdm.negation_facts import NegationCues, read_negation_cues, read_other_organs
from medeval.cdm.seeds import DATA, Seeds, grouped
from medeval.cdm.treatment_facts import TreatmentFacts, read_treatments


@dataclass(frozen=True)
class Criteria:
    """How a condition is diagnosed, in short, and the public guideline that says so."""

    condition: str
    guideline: str
    text: str


@dataclass(frozen=True)
class Facts:
    """All facts that tools and scores need.

    Attributes:
        labs: laboratory tests.
        imaging: imaging.
        treatments: treatments of each pathology, in the order of its answers.
        correct_diagnoses: pairs of word stems, place and change, that are a pathology.
        gracious_diagnoses: pairs that are nearly one.
        other_organs: of each pathology, beginnings of words for organs that are not its own.
        negations: phrases after which a finding is absent, as the reference has them.
        negation_cues: by which version 2 tells what is denied.
        criteria: of each condition, in the order of the list.
        condition_names: the condition that a name in lower case means.
    """

    labs: LabFacts
    imaging: ImagingFacts
    treatments: Mapping[str, tuple[TreatmentFacts, ...]]
    correct_diagnoses: Mapping[str, tuple[tuple[str, str], ...]]
    gracious_diagnoses: Mapping[str, tuple[tuple[str, str], ...]]
    other_organs: Mapping[str, tuple[str, ...]]
    negations: tuple[str, ...]
    negation_cues: NegationCues
    criteria: Mapping[str, Criteria]
    condition_names: Mapping[str, str]


def load_facts(root: Path | None = None, data: Path = DATA) -> Facts:
    """Read the facts.

    Args:
        root: the project's folder; None searches upwards from the current one.
        data: the folder of the package's own files.

    Raises:
        UserError: a file is missing or cannot be read.
    """
    seeds = Seeds(root, data)
    columns = ("pathology", "grade", "location_stem", "modifier_stem")
    pairs = grouped(
        seeds.rows("cdm_diagnosis_alternatives", columns),
        lambda row: (row["grade"], row["pathology"]),
        lambda row: (row["location_stem"], row["modifier_stem"]),
    )
    criteria = seeds.rows("cdm_diagnosis_criteria", ("condition", "guideline", "criteria"))
    names = seeds.rows("cdm_condition_names", ("condition_name", "condition"))
    negations = tuple(row["phrase"] for row in seeds.rows("cdm_negation_phrases", ("phrase",)))
    places: dict[str, frozenset[str]] = {}
    for (_, name), found in pairs.items():
        places[name] = places.get(name, frozenset()).union(place for place, _ in found)
    return Facts(
        labs=read_labs(seeds),
        imaging=read_imaging(seeds),
        treatments=read_treatments(seeds),
        correct_diagnoses={
            name: found for (grade, name), found in pairs.items() if grade == "correct"
        },
        gracious_diagnoses={
            name: found for (grade, name), found in pairs.items() if grade == "gracious"
        },
        other_organs=read_other_organs(seeds, places),
        negations=negations,
        negation_cues=read_negation_cues(seeds, negations),
        criteria={
            row["condition"]: Criteria(row["condition"], row["guideline"], row["criteria"])
            for row in criteria
        },
        condition_names={row["condition_name"]: row["condition"] for row in names},
    )
